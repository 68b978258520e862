// Who is who, and what time is: the vocabulary that every folder shares.
#pragma once

#include <cstdint>

namespace motley {

// A participant of a run. Workers are 0 .. workers-1; servers, where a method has them, follow.
using Rank = int;

// The coordinator: starts workers, collects what they report, never trains.
inline constexpr Rank kCoordinator = -1;
// In a Match: a message from whoever it may be.
inline constexpr Rank kAnyRank = -2;

// A moment of a run, or a length of time, in seconds. Virtual in the simulator.
using Seconds = double;

// The place of a sample in its data set.
using SampleIndex = std::uint64_t;

}  // namespace motley
