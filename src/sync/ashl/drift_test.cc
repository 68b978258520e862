#include "sync/ashl/drift.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

namespace motley {
namespace {

TEST(DriftWatch, TellsOfTwoLongRoundsInARow) {
  DriftWatch watch;
  EXPECT_FALSE(watch.round(10, 12.1).drifted);
  const Drift drift = watch.round(10, 13);
  EXPECT_TRUE(drift.drifted);
  EXPECT_EQ(drift.reason,
            "2 rounds in a row off by more than 20 %, the last one 13 s instead of 10 s");
}

TEST(DriftWatch, TellsOfTwoShortRoundsInARow) {
  DriftWatch watch;
  EXPECT_FALSE(watch.round(10, 7).drifted);
  EXPECT_TRUE(watch.round(10, 7.9).drifted);
}

TEST(DriftWatch, HiccupsAndNoiseAreNoDrift) {
  DriftWatch watch;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(watch.round(10, 30).drifted);
    EXPECT_FALSE(watch.round(10, 11).drifted);
    EXPECT_FALSE(watch.round(10, 13).drifted);
    EXPECT_FALSE(watch.round(10, 7).drifted);
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(watch.round(10, i % 2 == 0 ? 11.9 : 8.1).drifted);
    EXPECT_FALSE(watch.round(0, 5).drifted);
  }
}

TEST(DriftWatch, BeginsAnewWithANewPlan) {
  DriftWatch watch;
  watch.round(10, 13);
  watch.restart();
  EXPECT_FALSE(watch.round(10, 13).drifted);
  EXPECT_TRUE(watch.round(10, 13).drifted);
  EXPECT_FALSE(watch.round(10, 13).drifted);
  EXPECT_TRUE(watch.round(10, 13).drifted);
}

// A lasting change of speed is reported at the second round, whatever happened before.
RC_GTEST_PROP(DriftWatch, TellsOfALastingChangeWithinTwoRounds, ()) {
  DriftWatch watch;
  for (const int percent : *rc::gen::container<std::vector<int>>(rc::gen::inRange(81, 120))) {
    RC_ASSERT(!watch.round(1, percent * 0.01).drifted);
  }
  const double factor = *rc::gen::element(0.1, 0.79, 1.21, 5.0);
  RC_ASSERT(!watch.round(1, factor).drifted);
  RC_ASSERT(watch.round(1, factor).drifted);
}

}  // namespace
}  // namespace motley
