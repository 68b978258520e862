#include "sync/hop/rules.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sync/hop/token_queue.h"

namespace motley {
namespace {

HopRules rules(HopMode mode, std::int64_t number = 0, std::int64_t max_gap = 0) {
  HopRules rules;
  rules.mode = mode;
  rules.backup = mode == HopMode::kBackup ? number : 0;
  rules.staleness = mode == HopMode::kStaleness ? number : 0;
  rules.max_gap = max_gap;
  return rules;
}

// The paper's table of bounds, row by row, with 3 edges forth and 2 back.
TEST(GapBound, IsThePapersTable) {
  EXPECT_EQ(gap_bound(rules(HopMode::kStandard), 3, 2), 3);
  EXPECT_EQ(gap_bound(rules(HopMode::kNotifyAck), 3, 2), 3);
  EXPECT_EQ(gap_bound(rules(HopMode::kNotifyAck), 3, 1), 2);
  EXPECT_EQ(gap_bound(rules(HopMode::kStaleness, 5), 3, 2), 18);
  EXPECT_EQ(gap_bound(rules(HopMode::kBackup, 1), 3, 2), kNoBound);
  EXPECT_EQ(gap_bound(rules(HopMode::kStandard, 0, 1), 3, 2), 2);
  EXPECT_EQ(gap_bound(rules(HopMode::kStandard, 0, 5), 3, 2), 3);
  EXPECT_EQ(gap_bound(rules(HopMode::kStaleness, 5, 5), 3, 2), 10);
  EXPECT_EQ(gap_bound(rules(HopMode::kStaleness, 1, 5), 3, 2), 6);
  EXPECT_EQ(gap_bound(rules(HopMode::kBackup, 1, 5), 3, 2), 10);
  EXPECT_EQ(gap_bound(rules(HopMode::kBackup, 0, 5), 3, 2), 3);
}

TEST(Slots, AreThoseOfThePaperWhereEdgesGoBothWays) {
  const Graph ring = Graph::of(GraphKind::kRing, 8);
  EXPECT_EQ(slots_of(rules(HopMode::kStandard), ring, 0), 2);
  EXPECT_EQ(slots_of(rules(HopMode::kStaleness, 5), ring, 0), 7);
  EXPECT_EQ(slots_of(rules(HopMode::kNotifyAck), ring, 0), 1);
  EXPECT_EQ(slots_of(rules(HopMode::kBackup, 1, 5), ring, 0), 6);
}

RC_GTEST_PROP(NextIteration, NeverPassesTheSlowestOutNeighbour, ()) {
  HopRules any = rules(HopMode::kBackup, 1, *rc::gen::inRange(1, 10));
  any.max_jump = *rc::gen::inRange(0, 20);
  const auto k = *rc::gen::inRange<std::int64_t>(0, 1'000);
  const auto lag = *rc::gen::inRange<std::int64_t>(-10, 40);
  const auto [next, reason] = next_iteration(any, k, lag);
  RC_ASSERT(next >= k + 1);
  const std::int64_t most = std::min({any.max_jump, lag, any.max_gap});
  if (most <= 1) {
    RC_ASSERT(next == k + 1);
    RC_ASSERT(reason == kInStep);
  } else {
    RC_ASSERT(next == k + most);
    RC_ASSERT((reason == kCaughtUp) == (most == lag));
    RC_ASSERT((reason == kLongestJump) == (most != lag && most == any.max_jump));
  }
}

TEST(UpdateWeight, CountsLessWithAge) {
  const HopRules stale = rules(HopMode::kStaleness, 3);
  EXPECT_EQ(update_weight(stale, 10, 10), 4);
  EXPECT_EQ(update_weight(stale, 12, 10), 4);
  EXPECT_EQ(update_weight(stale, 9, 10), 3);
  EXPECT_EQ(update_weight(stale, 7, 10), 1);
  EXPECT_EQ(update_weight(stale, 2, 10), 1);  // the own model of a worker that jumps
  EXPECT_EQ(update_weight(rules(HopMode::kStandard), 10, 10), 1);
  EXPECT_EQ(update_weight(rules(HopMode::kBackup, 1), 2, 10), 1);
}

TEST(TokenQueue, HoldsTheDifferenceOfIterationsPlusTheGap) {
  TokenQueue queue(5);
  queue.insert(1);  // the giver begins iteration 0
  EXPECT_EQ(queue.size(), 5);
  queue.insert(3);  // it is in iteration 3
  queue.remove(1);  // the taker in 1
  EXPECT_EQ(queue.size(), 3 - 1 + 5);
  EXPECT_EQ(queue.largest_size(), 8);
  EXPECT_DEATH(queue.remove(8), "8 tokens of 7");
}

}  // namespace
}  // namespace motley
