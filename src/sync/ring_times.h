// When each member of a ring all-reduce is done, worked out instead of played message by message.
// Pure: no Node, no events.
//
//   std::vector<RingMember> members = ...;      // in the order of the ring: who came when
//   pass_round_ring(members, floats, latency);  // who is done when
//
// It takes the steps of Collective::ring (collective.h) in its order, each member's sends and
// receives crossing the links of cluster/link.h, so it gives the moments that a simulation of the
// same ring gives, provided that nothing else crosses the members' links meanwhile.
//
// Cost: 2n(n-1) steps of some nanoseconds; as messages they would cost a hundred times that.
#pragma once

#include <cstddef>
#include <span>

#include "cluster/link.h"

namespace motley {

struct RingMember {
  Seconds at = 0;      // in: when it comes; out: when it has the sum
  Link link;           // in: as it is then; out: as the ring leaves it
  Seconds waited = 0;  // out: for members who came late, as Collective::waited()
};

// A block of so many floats, of sizes only.
void pass_round_ring(std::span<RingMember> members, std::size_t floats, Seconds latency);

}  // namespace motley
