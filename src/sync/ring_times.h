// Computes when each member of a ring all-reduce is done, without simulating every message. Pure:
// no Node, no events.
//
//   std::vector<RingMember> members = ...;      // in the order of the ring: and when each arrives
//   pass_round_ring(members, floats, latency);  // sets when each is done
//
// It follows the steps of Collective::ring (collective.h) in the same order, with sends and
// receives crossing the links of cluster/link.h. So it gives the same times as a simulation of the
// ring, provided that nothing else crosses the members' links meanwhile.
//
// Cost: 2n(n-1) steps of a few nanoseconds; messages would cost a hundred times that.
#pragma once

#include <cstddef>
#include <span>

#include "cluster/link.h"

namespace motley {

struct RingMember {
  Seconds at = 0;      // in: when it arrives; out: when it has the sum
  Link link;           // in: its state then; out: its state after the ring
  Seconds waited = 0;  // out: for late members, as Collective::waited()
};

// For a phantom block of `floats` floats.
void pass_round_ring(std::span<RingMember> members, std::size_t floats, Seconds latency);

}  // namespace motley
