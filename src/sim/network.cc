#include "sim/network.h"

#include "base/check.h"

namespace motley {

Network::Network(int ranks, Seconds latency, const std::vector<double>& bandwidth)
    : latency_(latency), links_(static_cast<std::size_t>(ranks) + 1) {
  MOTLEY_CHECK(latency >= 0, "latency is {} s", latency);
  MOTLEY_CHECK(bandwidth.empty() || bandwidth.size() == static_cast<std::size_t>(ranks),
               "{} bandwidths for {} ranks", bandwidth.size(), ranks);
  for (std::size_t i = 0; i < bandwidth.size(); ++i) {
    MOTLEY_CHECK(bandwidth[i] > 0, "rank {} has a bandwidth of {}", i, bandwidth[i]);
    link(static_cast<Rank>(i)).per_byte = 1.0 / bandwidth[i];
  }
}

}  // namespace motley
