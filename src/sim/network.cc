#include "sim/network.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

Network::Network(int ranks, Seconds latency, const std::vector<double>& bandwidth)
    : latency_(latency), hosts_(static_cast<std::size_t>(ranks) + 1) {
  MOTLEY_CHECK(latency >= 0, "a latency of {} s", latency);
  MOTLEY_CHECK(bandwidth.empty() || bandwidth.size() == static_cast<std::size_t>(ranks),
               "{} bandwidths for {} ranks", bandwidth.size(), ranks);
  for (std::size_t i = 0; i < bandwidth.size(); ++i) {
    MOTLEY_CHECK(bandwidth[i] > 0, "rank {} has a bandwidth of {}", i, bandwidth[i]);
    host(static_cast<Rank>(i)).per_byte = 1.0 / bandwidth[i];
  }
}

Network::Crossing Network::depart(Rank from, std::size_t bytes, Seconds now) {
  Host& sender = host(from);
  const Seconds start = std::max(now, sender.uplink_free);
  sender.uplink_free = start + static_cast<double>(bytes) * sender.per_byte;
  sender.bytes_sent += bytes;
  return {
      .left = sender.uplink_free, .head = start + latency_, .tail = sender.uplink_free + latency_};
}

Seconds Network::arrive(Rank to, std::size_t bytes, const Crossing& crossing) {
  Host& receiver = host(to);
  const Seconds start = std::max(crossing.head, receiver.downlink_free);
  receiver.downlink_free = start + static_cast<double>(bytes) * receiver.per_byte;
  return std::max(receiver.downlink_free, crossing.tail);
}

}  // namespace motley
