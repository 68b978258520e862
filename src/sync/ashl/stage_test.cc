#include "sync/ashl/stage.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinite = std::numeric_limits<double>::infinity();

// Reports samples that all have this loss.
void report(StageSwitch& stage, double loss, std::int64_t samples = 100) {
  stage.report(loss * static_cast<double>(samples), samples);
}

TEST(StageSwitch, WantsThreeReportsInARow) {
  StageSwitch stage(1.0, 0.5, 1);  // no memory: the loss is that of the last report
  for (const double loss : {3.0, 0.9, 0.9, 1.1, 0.9, 1.0}) {
    report(stage, loss);
    EXPECT_FALSE(stage.fine()) << loss;
  }
  EXPECT_EQ(stage.reason(), "coarse: loss 1, fine from 1 on");
  report(stage, 0.8);
  EXPECT_TRUE(stage.fine());
  for (const double loss : {50.0, 0.1, 0.1, 0.1}) {
    report(stage, loss);
    EXPECT_TRUE(stage.fine());
  }
  EXPECT_EQ(stage.reason(), "fine: loss 0.8 reached 1 after 700 samples");
}

TEST(StageSwitch, WantsHalfAMemoryOfSamples) {
  StageSwitch stage(1.0, 0.5, 1'000);
  for (int i = 0; i < 4; ++i) {
    report(stage, 0.5);
    EXPECT_FALSE(stage.fine());
  }
  report(stage, 0.5);
  EXPECT_TRUE(stage.fine());
}

TEST(StageSwitch, WithoutAPresetTakesAFractionOfTheFirstLoss) {
  StageSwitch stage(std::nullopt, 0.5, 1'000);
  EXPECT_EQ(stage.loss(), kInfinite);
  EXPECT_EQ(stage.reason(), "coarse: the loss is not known yet");
  report(stage, 2, 200);
  EXPECT_FALSE(stage.loss_preset());
  report(stage, 2, 50);
  ASSERT_TRUE(stage.loss_preset());
  EXPECT_DOUBLE_EQ(*stage.loss_preset(), 1);
  report(stage, 8, 1'000);
  EXPECT_DOUBLE_EQ(*stage.loss_preset(), 1);
}

// The mean forgets by samples, not by reports: weights fall to 1/e after `memory` samples.
TEST(StageSwitch, ForgetsBySamples) {
  StageSwitch stage(0.0, 0.5, 1'000);
  report(stage, 1, 1'000'000);
  report(stage, 0, 500);
  report(stage, 0, 250);
  report(stage, 0, 250);
  EXPECT_NEAR(stage.loss(), std::exp(-1), 1e-12);
}

TEST(StageSwitch, OneLuckyBatchDoesNotSwitch) {
  StageSwitch stage(1.0, 0.5, 1'000);
  for (int i = 0; i < 100; ++i) {
    report(stage, i % 10 == 9 ? 0.0 : 1.5);
    EXPECT_FALSE(stage.fine());
  }
}

TEST(StageSwitch, WhatIsNoNumberIsNotReported) {
  StageSwitch with(1.0, 0.5, 300), without(1.0, 0.5, 300);
  for (const double loss : {2.0, 1.5, 0.5, 0.25, 0.2, 0.2, 0.2}) {
    report(with, kNan);
    report(with, kInfinite);
    report(with, -kInfinite);
    with.report(-1e9, 0);
    report(with, loss);
    report(without, loss);
    EXPECT_EQ(with.loss(), without.loss());
    EXPECT_EQ(with.fine(), without.fine());
  }
  EXPECT_TRUE(with.fine());
}

RC_GTEST_PROP(StageSwitch, OfEqualLossesKnowsTheLossFromTheBeginning, ()) {
  StageSwitch stage(0.0, 0.5, *rc::gen::inRange<std::int64_t>(1, 100'000));
  const double loss = *rc::gen::inRange(1, 1'000) * 0.01;
  for (const auto samples :
       *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 10'000))) {
    report(stage, loss, samples);
    RC_ASSERT(std::abs(stage.loss() - loss) < 1e-9 * loss);
  }
}

RC_GTEST_PROP(StageSwitch, ManySmallReportsAreOneLargeOne, ()) {
  const auto memory = *rc::gen::inRange<std::int64_t>(1, 10'000);
  StageSwitch small(0.0, 0.5, memory), large(0.0, 0.5, memory);
  for (const auto parts :
       *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 30))) {
    const double loss = *rc::gen::inRange(1, 1'000) * 0.01;
    for (std::int64_t i = 0; i < parts; ++i) {
      report(small, loss, 16);
    }
    report(large, loss, 16 * parts);
    RC_ASSERT(std::abs(small.loss() - large.loss()) < 1e-9 * large.loss());
  }
}

// Losses that fall and rise again, with noise and NaN, for both kinds of preset. The expected time
// of the switch is computed from loss().
TEST(StageSwitch, HappensOnceAndNeverBack) {
  int switched = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Random random(seed);
    const bool given = random.below(2) == 0;
    const auto memory = static_cast<std::int64_t>(1 + random.below(2'000));
    StageSwitch stage(given ? std::optional(1.0) : std::nullopt, 0.5, memory);
    double level = 2;
    int in_a_row = 0;
    std::int64_t seen = 0;
    bool fine = false;
    for (int i = 0; i < 100; ++i) {
      level *= std::exp(0.2 * random.normal() - 0.02);
      const auto samples = static_cast<std::int64_t>(1 + random.below(200));
      if (random.below(10) == 0) {
        const bool nan = random.below(2) == 0;
        report(stage, std::array{kInfinite, kNan}[nan ? 1 : 0], samples);
      } else {
        report(stage, level * random.uniform() * 2, samples);
        seen += samples;
        in_a_row = stage.loss_preset() && stage.loss() <= *stage.loss_preset() ? in_a_row + 1 : 0;
      }
      const bool expected = fine || (in_a_row >= 3 && 2 * seen >= memory);
      ASSERT_EQ(stage.fine(), expected) << "seed " << seed << ", report " << i;
      ASSERT_TRUE(std::isfinite(stage.loss()) || seen == 0);
      switched += expected && !fine;
      fine = expected;
    }
  }
  EXPECT_GT(switched, 500);
  EXPECT_LT(switched, 2'000);
}

}  // namespace
}  // namespace motley
