#include "sync/hop/rules.h"

#include <algorithm>

namespace motley {
namespace {

// How far i can get ahead of j because it needs j's updates.
std::int64_t bound_by_updates(const HopRules& rules, std::int64_t forth, std::int64_t back) {
  switch (rules.mode) {
    case HopMode::kBackup:
      return rules.backup > 0 ? kNoBound : forth;
    case HopMode::kStaleness:
      return (rules.staleness + 1) * forth;
    case HopMode::kNotifyAck:
      return std::min(forth, 2 * back);
    case HopMode::kStandard:
      break;
  }
  return forth;
}

}  // namespace

HopRules rules_of(const HopOptions& options) {
  return {.mode = options.mode,
          .backup = options.mode == HopMode::kBackup ? options.backup : 0,
          .staleness = options.mode == HopMode::kStaleness ? options.staleness : 0,
          .max_gap = options.max_gap,
          .max_jump = options.max_jump};
}

std::int64_t gap_bound(const HopRules& rules, int forth, int back) {
  const std::int64_t by_updates = bound_by_updates(rules, forth, back);
  return rules.has_tokens() ? std::min(by_updates, rules.max_gap * back) : by_updates;
}

// From the update that is wanted now to the newest one that a sender can have sent. With NOTIFY-ACK
// a sender waits until its last update was used.
std::int64_t slots_of(const HopRules& rules, const Graph& graph, Rank worker) {
  if (rules.has_acks()) {
    return 1;
  }
  return 1 + gap_bound(rules, graph.longest_way_to_in_neighbour(worker), 1);
}

// A jump never passes the slowest out-neighbour, which may be waiting for this worker's update of
// its current iteration. It also never goes further than the in-neighbours can get with the tokens
// that this worker gave them, because the worker first waits for their updates of the iteration
// before.
NextIteration next_iteration(const HopRules& rules, std::int64_t k, std::int64_t lag) {
  const std::int64_t jump = std::min({rules.max_jump, lag, rules.max_gap});
  if (jump < 2) {
    return {k + 1, kInStep};
  }
  return {k + jump, jump == lag              ? kCaughtUp
                    : jump == rules.max_jump ? kLongestJump
                                             : kLongestReach};
}

float update_weight(const HopRules& rules, std::int64_t iteration, std::int64_t k) {
  const std::int64_t age = std::clamp<std::int64_t>(k - iteration, 0, rules.staleness);
  return static_cast<float>(rules.staleness - age + 1);
}

}  // namespace motley
