#include "allocate/speed.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"

namespace motley {
namespace {

constexpr int kWindow = 10;

// A window of steps of `samples`, each taking seconds().
StepCost measure(SpeedEstimate& speed, std::size_t samples, const std::function<Seconds()>& seconds,
                 int steps = kWindow) {
  for (int i = 0; i < steps; ++i) {
    speed.add(samples, seconds());
  }
  return speed.end_window();
}

StepCost measure(SpeedEstimate& speed, std::size_t samples, Seconds seconds) {
  return measure(speed, samples, [&] { return seconds; });
}

TEST(Middle, IsNextToTheMedian) {
  std::vector<Seconds> odd{5, 1, 3};
  EXPECT_DOUBLE_EQ(middle_of(odd).time, 3);
  std::vector<Seconds> even{4, 1, 3, 100};
  EXPECT_DOUBLE_EQ(middle_of(even).time, 3.5);
  std::vector<Seconds> one{2};
  EXPECT_EQ(middle_of(one).time, 2);
  EXPECT_EQ(middle_of(one).error, 0);
}

TEST(Middle, KnowsItsError) {
  Random random(1);
  for (int n : {8, 25, 64}) {
    double spread = 0;
    double error = 0;
    constexpr int kRounds = 4'000;
    for (int round = 0; round < kRounds; ++round) {
      std::vector<Seconds> times;
      for (int i = 0; i < n; ++i) {
        times.push_back(1 + 0.05 * random.normal());
      }
      const Middle middle = middle_of(times);
      spread += (middle.time - 1) * (middle.time - 1) / kRounds;
      error += middle.error / kRounds;
    }
    EXPECT_LT(error / std::sqrt(spread), 1.8) << n;
    EXPECT_GT(error / std::sqrt(spread), 1.0) << n << ": the error is too small";
  }
}

// Two times, equally frequent: the plain median jumps from one to the other; this does not.
TEST(Middle, DoesNotJump) {
  for (int slow = 20; slow <= 44; ++slow) {
    std::vector<Seconds> times(64, 1.0);
    std::fill_n(times.begin(), slow, 1.1);
    EXPECT_NEAR(middle_of(times).time, 1 + 0.1 * slow / 64, 1e-9);
  }
}

TEST(SpeedEstimate, KnowsNothingAtFirst) {
  SpeedEstimate speed;
  EXPECT_FALSE(speed.end_window().known());
  speed.add(10, 1);
  EXPECT_FALSE(speed.end_window().known()) << "still warming up";
}

TEST(SpeedEstimate, DropsTheFirstStepsAfterAChange) {
  SpeedEstimate speed;
  for (Seconds seconds : {9.0, 9.0, 1.0, 1.0, 1.0, 1.0}) {
    speed.add(10, seconds);
  }
  EXPECT_DOUBLE_EQ(speed.end_window().of(10), 1);
  for (Seconds seconds : {9.0, 9.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0}) {
    speed.add(20, seconds);
  }
  EXPECT_DOUBLE_EQ(speed.end_window().of(20), 2);
}

TEST(SpeedEstimate, WaitsForEnoughTimes) {
  SpeedEstimate speed;
  for (int i = 0; i < SpeedEstimate::kWarmUp + SpeedEstimate::kFewestAtFirst - 1; ++i) {
    speed.add(10, 1);
    EXPECT_FALSE(speed.end_window().known());
  }
  speed.add(10, 1);
  EXPECT_TRUE(speed.end_window().known());
}

TEST(SpeedEstimate, ToleratesOutliers) {
  SpeedEstimate speed;
  int step = 0;
  const StepCost cost = measure(speed, 10, [&] { return ++step % 4 == 0 ? 50.0 : 1.0; });
  EXPECT_NEAR(cost.per_sample, 0.1, 0.005);
  EXPECT_EQ(cost.fixed, 0);
}

TEST(SpeedEstimate, TellsTheFixedPartOnceSharesHaveVaried) {
  SpeedEstimate speed;
  const auto seconds = [](std::size_t b) { return 0.5 + 0.01 * static_cast<double>(b); };
  StepCost cost = measure(speed, 50, seconds(50));
  EXPECT_DOUBLE_EQ(cost.per_sample, 0.02) << "all of it is attributed to the samples";
  cost = measure(speed, 100, seconds(100));
  EXPECT_NEAR(cost.fixed, 0.5, 1e-9);
  EXPECT_NEAR(cost.per_sample, 0.01, 1e-9);
  cost = measure(speed, 80, seconds(80));
  EXPECT_NEAR(cost.of(1'000), 10.5, 1e-6);
}

TEST(SpeedEstimate, DoesNotBelieveAFixedPartThatIsNoise) {
  SpeedEstimate speed;
  Random random(2);
  const auto jittered = [&](double b) {
    return [&, b] { return 0.01 * b + 0.05 * random.normal() * 0.01 * b; };
  };
  measure(speed, 100, jittered(100));
  for (int window = 0; window < 200; ++window) {
    const std::size_t b = 100 + random.below(4);
    const StepCost cost = measure(speed, b, jittered(static_cast<double>(b)));
    EXPECT_NEAR(cost.of(b) / (0.01 * static_cast<double>(b)), 1, 0.08);
    EXPECT_LT(cost.fixed, 0.9) << "window " << window;
  }
}

TEST(SpeedEstimate, NoticesAnotherSpeedAndKeepsTheFixedPart) {
  SpeedEstimate speed;
  const auto seconds = [](double b, double slow) { return 0.5 + 0.01 * b * slow; };
  measure(speed, 50, seconds(50, 1));
  measure(speed, 100, seconds(100, 1));
  const StepCost slower = measure(speed, 100, seconds(100, 4));
  EXPECT_NEAR(slower.fixed, 0.5, 1e-9);
  EXPECT_NEAR(slower.per_sample, 0.04, 1e-9);
  const StepCost faster = measure(speed, 100, seconds(100, 0.5));
  EXPECT_NEAR(faster.of(100), 1.0, 1e-9);
}

TEST(SpeedEstimate, AMixedWindowChangesNothingTheNextOneDoes) {
  SpeedEstimate speed;
  for (int i = 0; i < 5; ++i) {
    measure(speed, 100, 1.0);
  }
  int step = 0;
  const StepCost mixed = measure(speed, 100, [&] { return ++step <= 6 ? 1.0 : 3.0; });
  EXPECT_NEAR(mixed.of(100), 1, 0.02) << "most known times say so";
  EXPECT_DOUBLE_EQ(measure(speed, 100, 3.0).of(100), 3) << "a whole window says otherwise";
}

// If every second step is slow, a window of slow ones only is chance, not another speed.
TEST(SpeedEstimate, AWindowOnOneSideIsNotAnotherSpeed) {
  SpeedEstimate speed;
  int step = 0;
  for (int i = 0; i < 6; ++i) {
    measure(speed, 100, [&] { return ++step % 2 == 0 ? 6.0 : 1.0; });
  }
  const StepCost cost = measure(speed, 100, 6.0);
  EXPECT_GT(cost.error, 0.1) << "the error is too small";
}

// Larger shares cost less than before, or more than in proportion: no line fits both.
TEST(SpeedEstimate, ForgetsTimesThatNoLineExplains) {
  for (const Seconds seconds : {0.7, 3.0}) {
    SpeedEstimate speed;
    measure(speed, 50, 1.0);
    const StepCost cost = measure(speed, 100, seconds);
    EXPECT_DOUBLE_EQ(cost.of(100), seconds);
    EXPECT_EQ(cost.fixed, 0);
  }
}

TEST(SpeedEstimate, KnowsHowUncertainItIs) {
  SpeedEstimate steady;
  EXPECT_EQ(measure(steady, 10, 1.0).error, 0);
  SpeedEstimate restless;
  Random random(3);
  const double first = measure(restless, 10, [&] { return 1 + 0.05 * random.normal(); }).error;
  EXPECT_GT(first, 0.003);
  EXPECT_LT(first, 0.06);
  StepCost later;
  for (int i = 0; i < 6; ++i) {
    later = measure(restless, 10, [&] { return 1 + 0.05 * random.normal(); });
  }
  EXPECT_LT(later.error, 0.015);
}

// Any two shares whose parts differ in size determine the cost of any third one.
RC_GTEST_PROP(SpeedEstimate, KnowsThatEveryPartHasTheFixedCost, ()) {
  const auto micro_batch = *rc::gen::inRange<std::size_t>(1, 100);
  StepCost truth{1e-3 * *rc::gen::inRange(1, 100), 1e-4 * *rc::gen::inRange(1, 50)};
  truth.micro_batch = micro_batch;
  const auto share = [] { return *rc::gen::inRange<std::size_t>(1, 300); };
  const auto part = [&](std::size_t b) { return static_cast<double>(b) / truth.parts(b); };
  const std::size_t first = share();
  const std::size_t second = share();
  RC_PRE(part(first) > 1.3 * part(second) || part(second) > 1.3 * part(first));
  for (const std::size_t b : {first, second}) {  // neither next to nothing nor next to everything
    RC_PRE(truth.fixed > 0.1 * truth.per_sample * part(b));
    RC_PRE(truth.fixed < 10 * truth.per_sample * part(b));
  }
  SpeedEstimate speed(micro_batch);
  measure(speed, first, truth.of(first));
  const StepCost cost = measure(speed, second, truth.of(second));
  RC_ASSERT(cost.fixed_known);
  RC_ASSERT(std::abs(cost.fixed / truth.fixed - 1) < 1e-6);
  const std::size_t third = share();
  RC_ASSERT(std::abs(cost.of(third) / truth.of(third) - 1) < 1e-6);
}

// Full parts take longer in proportion, however many: that says nothing about the fixed cost.
TEST(SpeedEstimate, FullPartsDoNotTellTheFixedCost) {
  SpeedEstimate speed(10);
  measure(speed, 20, 2.0);
  const StepCost cost = measure(speed, 50, 5.0);
  EXPECT_FALSE(cost.fixed_known);
  EXPECT_DOUBLE_EQ(cost.of(30), 3.0);
  EXPECT_NEAR(measure(speed, 51, 5.9).fixed, 0.88, 0.02) << "one more part";
}

TEST(StepCost, SamplesWithinATimeAreThoseThatTakeIt) {
  StepCost cost{1.0, 0.1};
  cost.micro_batch = 10;
  EXPECT_DOUBLE_EQ(cost.samples_within(0.5), 0);
  EXPECT_DOUBLE_EQ(cost.samples_within(1.25), 2.5);
  EXPECT_DOUBLE_EQ(cost.samples_within(2), 10);
  EXPECT_DOUBLE_EQ(cost.samples_within(2.9), 10) << "no time for another part";
  EXPECT_DOUBLE_EQ(cost.samples_within(3.2), 12);
}

// The largest number of samples that takes no longer.
RC_GTEST_PROP(StepCost, NoMoreSamplesFit, ()) {
  StepCost cost{1e-3 * *rc::gen::inRange(0, 1'000), 1e-3 * *rc::gen::inRange(1, 100)};
  cost.micro_batch = *rc::gen::inRange<std::size_t>(1, 50);
  const Seconds step = 1e-2 * *rc::gen::inRange(1, 1'000);
  const double within = cost.samples_within(step);
  const auto whole = static_cast<std::size_t>(within + 1e-9);
  RC_ASSERT(whole == 0 || cost.of(whole) <= step * (1 + 1e-9));
  RC_ASSERT(cost.of(whole + 1) >= step * (1 - 1e-9));
}

TEST(InParts, TakesAsLongAsTheMeanAndJumpsWithOnePartMore) {
  StepCost known{0.5, 0.2};
  known.micro_batch = 10;
  const StepCost mean{0, 0.3};
  const StepCost cost = in_parts(mean, 10, known);
  EXPECT_DOUBLE_EQ(cost.of(10), mean.of(10));
  EXPECT_DOUBLE_EQ(cost.of(11) - cost.of(10), 0.5 + 0.25);
  EXPECT_DOUBLE_EQ(in_parts({0, 0.01}, 10, known).of(11), 0.11) << "the fixed cost is out of date";
  known.micro_batch = kWholeShare;
  EXPECT_EQ(in_parts(mean, 10, known).fixed, 0);
}

// Whatever is measured, the estimate is a cost: finite, and samples cost something.
RC_GTEST_PROP(SpeedEstimate, IsAlwaysACost, ()) {
  SpeedEstimate speed;
  const auto windows = *rc::gen::inRange(1, 30);
  for (int i = 0; i < windows; ++i) {
    const auto b = *rc::gen::inRange<std::size_t>(1, 50);
    const auto seconds = *rc::gen::inRange(0, 1'000);
    const auto steps = *rc::gen::inRange(0, 12);
    const StepCost cost = measure(
        speed, b, [&] { return seconds * 1e-3; }, steps);
    RC_ASSERT(std::isfinite(cost.fixed) && cost.fixed >= 0);
    RC_ASSERT(std::isfinite(cost.per_sample) && cost.per_sample >= 0);
    RC_ASSERT(std::isfinite(cost.error) && cost.error >= 0);
    if (steps >= SpeedEstimate::kWarmUp + SpeedEstimate::kFewestAtFirst && seconds > 0) {
      RC_ASSERT(cost.known());
    }
  }
}

TEST(MeanTime, IsThePlainMeanSinceTheLastCall) {
  MeanTime mean;
  EXPECT_FALSE(mean.take().known());
  mean.add(10, 1);
  mean.add(10, 3);
  EXPECT_DOUBLE_EQ(mean.take().of(10), 2);
  EXPECT_FALSE(mean.take().known());
}

}  // namespace
}  // namespace motley
