// A ring all-reduce whose edges share links: several members on one machine, or a backbone. Pure.
#pragma once

#include <cstddef>
#include <span>

#include "sync/ring_times.h"

namespace motley {

// `chunks` are the bytes of every chunk; an empty one is not sent. See pass_round_ring().
void pass_shared_edges(std::span<RingMember> members, std::span<const std::size_t> chunks);

}  // namespace motley
