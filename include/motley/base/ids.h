// Ranks, time and sample indices: the vocabulary that every folder shares.
#pragma once

#include <cstdint>

namespace motley {

// A participant of a run. Workers are 0 .. workers-1; the servers of a method follow.
using Rank = int;

// The coordinator starts workers and collects their reports; it does not train.
inline constexpr Rank kCoordinator = -1;
// In a Match: a message from any rank.
inline constexpr Rank kAnyRank = -2;

// A point in time of a run or a duration, in seconds. Virtual in the simulator.
using Seconds = double;

// The index of a sample in its data set.
using SampleIndex = std::uint64_t;

}  // namespace motley
