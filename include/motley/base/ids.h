// Ranks, processes, time and sample indices: the vocabulary that every folder shares.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>

namespace motley {

// A participant of a run. Workers are 0 .. workers-1; the servers of a method follow.
using Rank = int;

// The coordinator starts workers and collects their reports; it does not train.
inline constexpr Rank kCoordinator = -1;
// A process of a run, for as long as the run lasts: ranks are counted anew in every term, ids are
// not. Workers and servers are numbered separately.
enum class ProcessKind { kWorker, kServer };
struct ProcessId {
  ProcessKind kind = ProcessKind::kWorker;
  int id = 0;

  friend auto operator<=>(const ProcessId&, const ProcessId&) = default;
};
constexpr std::string_view name_of(ProcessKind kind) {
  return kind == ProcessKind::kWorker ? "worker" : "server";
}

// In a Match: a message from any rank.
inline constexpr Rank kAnyRank = -2;

// A point in time of a run or a duration, in seconds. Virtual in the simulator.
using Seconds = double;

// The index of a sample in its data set.
using SampleIndex = std::uint64_t;

}  // namespace motley
