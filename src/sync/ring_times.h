// Computes when each member of a ring all-reduce is done, without a Node or messages. Pure.
//
//   std::vector<RingMember> members = ...;   // in the order of the ring: when each arrives, and
//   its
//                                            // way to the next
//   pass_round_ring(members, floats);        // sets when each is done
//
// It follows the steps of Collective::ring (motley/sync/collective.h) in the same order. So it
// gives the same times as a simulation of the ring, provided that nothing else crosses the links.
//
// Cost: 2n(n-1) steps. Each takes a nanosecond or two if no two members share a link, so that each
// has a rate of its own; otherwise the members' flows share links as in cluster/fair_flows.h, and a
// step takes about 0.2 us. A simulated message takes a few times that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// A link on the way from one member to the next.
struct RingLink {
  std::uint32_t id = 0;
  double capacity = 0;  // bytes per second
};

// The way from one member to the next: the links that limit it, and its latency.
struct RingEdge {
  std::vector<RingLink> links;  // empty: unlimited
  Seconds latency = 0;

  // Seconds per byte of a message that has the links for itself.
  Seconds per_byte() const;
};

struct RingMember {
  Seconds at = 0;    // in: when it arrives; out: when it has the sum
  Seconds free = 0;  // in: the edge is busy until then; out: the same after the ring
  RingEdge edge;
  Seconds waited = 0;       // out: for late members, as Collective::waited()
  std::uint64_t bytes = 0;  // out: that it has sent

  // Sets what comes out, from the times at which it had half of the rounds and all of them.
  void finish(Seconds reduced, Seconds gathered, Seconds edge_free);
};

// For a phantom block of `floats` floats.
void pass_round_ring(std::span<RingMember> members, std::size_t floats);

}  // namespace motley
