// The decisions of Hop (Luo et al., ASPLOS 2019) as plain functions: how far workers may drift
// apart, how much room that takes, when a worker skips iterations, what an old update weighs.
#pragma once

#include <cstdint>
#include <string_view>

#include "motley/cluster/graph.h"
#include "motley/sync/hop.h"

namespace motley {

struct HopRules {
  HopMode mode = HopMode::kStandard;
  std::int64_t backup = 0;     // N_buw: in-neighbours whose updates may be missing
  std::int64_t staleness = 0;  // s: iterations that an update may be old
  std::int64_t max_gap = 0;    // max_ig; 0: no tokens
  std::int64_t max_jump = 0;   // 0: no iteration is skipped

  bool has_tokens() const { return max_gap > 0; }
  bool has_acks() const { return mode == HopMode::kNotifyAck; }
};

// What another mode needs is 0.
HopRules rules_of(const HopOptions& options);

// Iterations that worker i can be ahead of worker j at most, when the shortest paths are `forth`
// from j to i and `back` from i to j: what j sends holds i back, and so do the tokens that j gives.
inline constexpr std::int64_t kNoBound = INT64_MAX;
std::int64_t gap_bound(const HopRules& rules, int forth, int back);

// Updates of one in-neighbour that a worker's queue has room for.
std::int64_t slots_of(const HopRules& rules, const Graph& graph, Rank worker);

// Where a worker goes on after iteration k.
inline constexpr std::string_view kInStep = "in step with its out-neighbours";
inline constexpr std::string_view kCaughtUp = "far behind: up to its slowest out-neighbour";
inline constexpr std::string_view kLongestJump = "far behind: as far as max_jump lets it";
inline constexpr std::string_view kLongestReach =
    "far behind: as far as in-neighbours can come on its tokens";
struct NextIteration {
  std::int64_t iteration = 0;  // k + 1, or more when it skips
  std::string_view reason;
};
// `lag`: iterations by which the slowest of its out-neighbours is ahead.
NextIteration next_iteration(const HopRules& rules, std::int64_t k, std::int64_t lag);

// What an update of an iteration counts in the average of iteration k: 1 when it is as old as it
// may be, one more for every iteration that it is younger. A worker that jumps has a model of its
// own which may be older still: it counts 1, or else what it computed last would be lost.
float update_weight(const HopRules& rules, std::int64_t iteration, std::int64_t k);

}  // namespace motley
