// Network: the links of all ranks, and when a message sent now will arrive. cluster/link.h has the
// model. Pure: no clock, no queue, no messages.
//
//   Crossing crossing = network.depart(from, bytes, now);   // at the time of sending
//   Seconds complete = network.arrive(to, bytes, crossing); // at time crossing.head
//
// The coordinator's links have the same latency as all others and unlimited bandwidth.
#pragma once

#include <cstddef>
#include <vector>

#include "cluster/link.h"
#include "motley/base/ids.h"

namespace motley {

class Network {
 public:
  // Bytes per second of every rank's links; empty means unlimited.
  Network(int ranks, Seconds latency, const std::vector<double>& bandwidth);

  Crossing depart(Rank from, std::size_t bytes, Seconds now) {
    return link(from).depart(bytes, now, latency_);
  }
  // Call in order of crossing.head.
  Seconds arrive(Rank to, std::size_t bytes, const Crossing& crossing) {
    return link(to).arrive(bytes, crossing);
  }

  Seconds latency() const { return latency_; }
  // The coordinator comes first: it is rank -1.
  Link& link(Rank rank) { return links_[static_cast<std::size_t>(rank - kCoordinator)]; }
  const Link& link(Rank rank) const {
    return links_[static_cast<std::size_t>(rank - kCoordinator)];
  }

 private:
  Seconds latency_;
  std::vector<Link> links_;
};

}  // namespace motley
