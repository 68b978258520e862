// The decisions of Hop (Luo et al., ASPLOS 2019) as pure functions: how far workers may drift
// apart, how many queue slots that takes, when a worker skips iterations, and the weight of an old
// update.
#pragma once

#include <cstdint>
#include <string_view>

#include "motley/cluster/graph.h"
#include "motley/sync/hop.h"

namespace motley {

struct HopRules {
  HopMode mode = HopMode::kStandard;
  std::int64_t backup = 0;     // N_buw: in-neighbours whose updates may be missing
  std::int64_t staleness = 0;  // s: how many iterations old an update may be
  std::int64_t max_gap = 0;    // max_ig: largest gap to an out-neighbour; 0: no tokens
  std::int64_t max_jump = 0;   // most iterations to advance at once; 0: never skip any

  bool has_tokens() const { return max_gap > 0; }
  bool has_acks() const { return mode == HopMode::kNotifyAck; }
};

// Settings that the mode does not use are 0.
HopRules rules_of(const HopOptions& options);

// The most iterations that worker i can be ahead of worker j, if the shortest paths have `forth`
// edges from j to i and `back` edges from i to j. Both the updates and the tokens of j hold i back.
inline constexpr std::int64_t kNoBound = INT64_MAX;
std::int64_t gap_bound(const HopRules& rules, int forth, int back);

// The number of updates of one in-neighbour that a worker's queue must have room for.
std::int64_t slots_of(const HopRules& rules, const Graph& graph, Rank worker);

// The iteration that follows iteration k.
inline constexpr std::string_view kInStep = "in step with its out-neighbours";
inline constexpr std::string_view kCaughtUp = "far behind: up to its slowest out-neighbour";
inline constexpr std::string_view kLongestJump = "far behind: as far as max_jump lets it";
inline constexpr std::string_view kLongestReach =
    "far behind: as far as in-neighbours can come on its tokens";
struct NextIteration {
  std::int64_t iteration = 0;  // k + 1, or more if iterations are skipped
  std::string_view reason;
};
// `lag` is how many iterations the slowest out-neighbour is ahead.
NextIteration next_iteration(const HopRules& rules, std::int64_t k, std::int64_t lag);

// The weight of an update in the average of iteration k: 1 if it is as old as allowed, and one more
// for every iteration that it is newer. The own model of a worker that jumps may be even older. It
// has weight 1, because otherwise the worker's last step would be lost.
float update_weight(const HopRules& rules, std::int64_t iteration, std::int64_t k);

}  // namespace motley
