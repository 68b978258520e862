// Network: when a message sent now will be there. Pure: no clock, no queue, no messages.
//
// The model is LogGP's (Alexandrov et al., 1995), with a link on either side instead of a gap. Each
// host has an uplink and a downlink of some bandwidth, and both serialise what crosses them. A
// message of B bytes from i to j
//   - takes i's uplink as soon as that is free, for B / bandwidth_i;
//   - its head is at j one latency after it started: there it takes j's downlink as soon as that is
//     free, for B / bandwidth_j (and crosses both links at once, as packets do, rather than being
//     stored in between);
//   - it is complete when the downlink is through with it, and not before its last byte is there.
// A sender slower than the receiver thus leaves the rest of the downlink to others.
//
// A downlink serves heads in the order in which they arrive, whoever sent first. Hence two calls:
//
//   Crossing crossing = network.depart(from, bytes, now);   // when the sender sends
//   Seconds complete = network.arrive(to, bytes, crossing); // at the moment crossing.head
//
// The coordinator's links have the latency of all others and unlimited bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace motley {

class Network {
 public:
  // A message between the two links.
  struct Crossing {
    Seconds left = 0;  // its last byte left the uplink
    Seconds head = 0;  // its first byte reaches the downlink
    Seconds tail = 0;  // its last byte does, if that is free
  };

  // Bytes per second of every rank's links; none given means unlimited.
  Network(int ranks, Seconds latency, const std::vector<double>& bandwidth);

  Crossing depart(Rank from, std::size_t bytes, Seconds now);
  // To be called in order of crossing.head.
  Seconds arrive(Rank to, std::size_t bytes, const Crossing& crossing);

  Seconds latency() const { return latency_; }
  std::uint64_t bytes_sent(Rank rank) const { return host(rank).bytes_sent; }

 private:
  struct Host {
    Seconds per_byte = 0;
    Seconds uplink_free = 0;
    Seconds downlink_free = 0;
    std::uint64_t bytes_sent = 0;
  };

  // The coordinator comes first: it is rank -1.
  Host& host(Rank rank) { return hosts_[static_cast<std::size_t>(rank - kCoordinator)]; }
  const Host& host(Rank rank) const {
    return hosts_[static_cast<std::size_t>(rank - kCoordinator)];
  }

  Seconds latency_;
  std::vector<Host> hosts_;
};

}  // namespace motley
