#include "session/staleness.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley {
namespace {

TEST(Staleness, NothingIsStaleBeforeTheRunBegins) {
  const Staleness staleness;
  EXPECT_FALSE(staleness.at(1e6));
}

TEST(Staleness, SaysForHowLong) {
  Staleness staleness;
  staleness.begin(100);
  EXPECT_FALSE(staleness.at(104.9));
  EXPECT_EQ(staleness.at(112), 12);
  staleness.on_progress(112);
  EXPECT_FALSE(staleness.at(112));
}

TEST(Staleness, AStallDoesNotMakeTheNextOneUsual) {
  Staleness staleness;
  staleness.begin(0);
  Seconds now = 0;
  for (int stall = 0; stall < 5; ++stall) {
    for (int step = 0; step < 10; ++step) {
      staleness.on_progress(now += 0.1);
    }
    EXPECT_EQ(staleness.at(now + 12), now + 12 - now) << stall;
    staleness.on_progress(now += 12);
  }
}

TEST(Staleness, KnowsSlowRuns) {
  Staleness staleness;
  staleness.begin(0);
  for (int step = 1; step < 20; ++step) {
    staleness.on_progress(30.0 * step);
  }
  const Seconds last = 30.0 * 19;
  EXPECT_FALSE(staleness.at(last + 119));
  EXPECT_EQ(staleness.at(last + 120), 120);
}

// Steady progress is never stale after a while, and what is said is true.
RC_GTEST_PROP(Staleness, SteadyProgressIsNews, ()) {
  const Seconds gap = *rc::gen::inRange(1, 100'000) * 0.001;
  Staleness staleness;
  staleness.begin(0);
  Seconds now = 0;
  for (int i = 0; i < 100; ++i) {
    const Seconds next = now + gap;
    RC_ASSERT(!staleness.at(next) || i < 10);
    staleness.on_progress(next);
    RC_ASSERT(!staleness.at(next));
    now = next;
  }
  RC_ASSERT(staleness.at(now + 1000) == std::optional(now + 1000 - now));
}

}  // namespace
}  // namespace motley
