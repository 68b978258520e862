#include "sync/adsp/commit_rate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

struct Hyperbola {
  double a = 1, b = 1, c0 = 0;

  double at(Seconds t) const { return 1 / (a * a * t + b) + c0; }
  Seconds time_to(double loss) const { return (1 / (loss - c0) - b) / (a * a); }
  LossCurve sampled(Seconds from, Seconds middle, Seconds to) const {
    return {{{from, at(from)}, {middle, at(middle)}, {to, at(to)}}};
  }
};

Hyperbola any_curve() {
  return {*rc::gen::inRange(10, 300) * 0.01, *rc::gen::inRange(20, 300) * 0.01,
          *rc::gen::inRange(0, 100) * 0.01};
}

LossCurve losses(double start, double middle, double end) {
  return {{{0, start}, {5, middle}, {10, end}}};
}

RC_GTEST_PROP(Reward, IsOneOverTheTimeThatTheCurveTakes, ()) {
  const Hyperbola curve = any_curve();
  const Seconds from = *rc::gen::inRange(0, 50) * 0.1;
  const Seconds middle = from + *rc::gen::inRange(5, 50) * 0.1;  // equidistant or not
  const Seconds to = middle + *rc::gen::inRange(5, 50) * 0.1;
  const Seconds later = from + *rc::gen::inRange(1, 200) * 0.1;
  const double target = curve.at(later);
  RC_ASSERT(std::abs(curve.time_to(target) - later) < 1e-6 * later);
  RC_ASSERT(std::abs(reward(curve.sampled(from, middle, to), target) * later - 1) < 1e-6);
}

// The paper's formula, for equidistant samples.
RC_GTEST_PROP(Reward, IsThePapersFormula, ()) {
  const double l2 = *rc::gen::inRange(10, 1'000) * 0.01;
  const double l1 = l2 + *rc::gen::inRange(1, 100) * 0.01;
  const double l0 = l1 + (l1 - l2) + *rc::gen::inRange(1, 100) * 0.01;
  const double target = l0 * *rc::gen::inRange(1, 100) * 0.01;
  const double c0 = (2 * l0 * l2 - l1 * (l0 + l2)) / (l0 + l2 - 2 * l1);
  const double b = 1 / (l0 - c0);
  const double a_squared = (1 / (l2 - c0) - b) / 10;
  const double expected = target > c0 ? a_squared / (1 / (target - c0) - b) : 0;
  RC_ASSERT(std::abs(reward(losses(l0, l1, l2), target) - expected) <= 1e-6 * (1 + expected));
}

RC_GTEST_PROP(Reward, IsHigherForASteeperCurve, ()) {
  const Hyperbola flat = any_curve();
  Hyperbola steep = flat;
  steep.a *= 1 + *rc::gen::inRange(1, 200) * 0.01;
  const double target = flat.c0 + *rc::gen::inRange(1, 99) * 0.01 / flat.b;
  const Seconds period = *rc::gen::inRange(1, 100) * 0.1;
  const double of_flat = reward(flat.sampled(0, period / 2, period), target);
  RC_ASSERT(of_flat > 0);
  RC_ASSERT(reward(steep.sampled(0, period / 2, period), target) > of_flat);
}

TEST(Reward, OfAStraightLine) {
  EXPECT_DOUBLE_EQ(reward(losses(3, 2, 1), 2), 0.2);
  EXPECT_DOUBLE_EQ(reward(losses(3, 2, 1), 0.5), 0.08);
  // If the loss falls faster and faster, or rises in between, a line from the first to the last
  // sample is used.
  EXPECT_DOUBLE_EQ(reward(losses(3, 2.9, 1), 2), 0.2);
  EXPECT_DOUBLE_EQ(reward(losses(3, 0.5, 1), 2), 0.2);
  EXPECT_DOUBLE_EQ(reward(losses(3, 4, 1), 2), 0.2);
  // Continuous with the curves.
  EXPECT_NEAR(reward(losses(3, 2 - 1e-9, 1), 0.5), 0.08, 1e-8);
}

TEST(Reward, IsZeroWhereNothingIsReached) {
  EXPECT_EQ(reward(losses(2, 2, 2), 1), 0);
  EXPECT_EQ(reward(losses(2, 1, 2.5), 1), 0);
  EXPECT_EQ(reward(losses(2, 1, 0.5), 3), 0);                  // already reached
  const LossCurve down_to_one{{{0, 2}, {1, 1.5}, {3, 1.25}}};  // 1 / (t + 1) + 1
  EXPECT_EQ(reward(down_to_one, 1), 0);
  EXPECT_EQ(reward(down_to_one, 0.5), 0);
  EXPECT_DOUBLE_EQ(reward(down_to_one, 1.125), 1.0 / 7);
  EXPECT_EQ(reward({{{0, 3}, {0, 2}, {0, 1}}}, 2), 0);
}

TEST(Reward, OfWhatIsNoNumberIsZero) {
  EXPECT_EQ(reward(losses(2, 1, -double{INFINITY}), 1), 0);
  EXPECT_EQ(reward(losses(2, double{NAN}, 1), 1), 0);
  EXPECT_EQ(reward(losses(double{INFINITY}, 2, 1), 1), 0);
  EXPECT_TRUE(std::isfinite(reward({{{0, 3}, {1e-320, 2}, {2e-320, 1}}}, 2)));
}

RC_GTEST_PROP(Reward, IsFiniteAndNotNegative, ()) {
  const auto any = [] {
    return *rc::gen::oneOf(
        rc::gen::element(0.0, 1.0, 1 + 1e-15, 1 - 1e-15, 1e300, -1e300, 1e-300, 5e-324,
                         double{INFINITY}, -double{INFINITY}, double{NAN}),
        rc::gen::map(rc::gen::inRange(-1'000, 1'000), [](int n) { return n * 0.01; }));
  };
  const double earned = reward(losses(any(), any(), any()), any());
  RC_ASSERT(std::isfinite(earned));
  RC_ASSERT(earned >= 0);
}

// A run in which `speed` gives how fast the loss falls for a number of commits in the period.
template <class Speed>
void train(CommitSearch& search, int periods, double& loss, const Speed& speed) {
  for (int i = 0; i < periods; ++i) {
    const double fall = std::exp(-speed(search.commits()));
    const LossCurve curve{
        {{60.0 * i, loss}, {60.0 * i + 30, loss * std::sqrt(fall)}, {60.0 * i + 60, loss * fall}}};
    loss *= fall;
    search.period_over(curve);
  }
}

RC_GTEST_PROP(CommitSearch, ClimbsToThePeak, ()) {
  const auto peak = *rc::gen::inRange<std::int64_t>(1, 30);
  const auto start = *rc::gen::inRange<std::int64_t>(1, 30);
  CommitSearch search({.start = start});
  RC_ASSERT(search.commits() == start);
  double loss = 5;
  train(search, 40, loss, [&](std::int64_t commits) {
    return 0.2 / (1 + 0.1 * std::abs(static_cast<double>(commits - peak)));
  });
  RC_ASSERT(!search.searching());
  RC_ASSERT(search.commits() == std::max(start, peak));
}

// Time is that of the samples: a period gets no credit for beginning closer to the target.
TEST(CommitSearch, WithATargetComparesMoments) {
  const Hyperbola first;
  // From the same loss at t = 1, a little steeper or flatter.
  const Hyperbola steeper{1.05, 2 - 1.05 * 1.05, 0};
  const Hyperbola flatter{0.95, 2 - 0.95 * 0.95, 0};
  for (const auto& [second, commits] : {std::pair(steeper, 3), std::pair(flatter, 1)}) {
    CommitSearch search({.loss_target = 0.2});
    search.period_over(first.sampled(0, 0.5, 1));
    search.period_over(second.sampled(1, 1.5, 2));
    EXPECT_EQ(search.commits(), commits);
  }
}

// With a target that is already reached, the reward would always be 0.
TEST(CommitSearch, BelowItsTargetGoesOnAsWithoutOne) {
  CommitSearch search({.loss_target = 10});
  search.period_over(losses(2, 1.9, 1.8));
  search.period_over(losses(1.8, 1.65, 1.5));
  EXPECT_EQ(search.commits(), 3);
}

TEST(CommitSearch, TellsWhatItDoes) {
  CommitSearch search;
  EXPECT_EQ(search.reason(), "1 commits a period: the run begins, what do they earn?");
  search.period_over(losses(2, 1.9, 1.8));
  EXPECT_EQ(search.commits(), 2);
  EXPECT_EQ(search.reason(), "2 commits a period: more than 0.1, which one fewer earned?");
  search.period_over(losses(2, 1.95, 1.9));
  EXPECT_EQ(search.commits(), 1);
  EXPECT_EQ(search.reason(),
            "1 commits a period: one more earned 0.05, which is not more than 0.1");
}

TEST(CommitSearch, StaysWhereOneMoreEarnsAsMuch) {
  CommitSearch search;
  search.period_over(losses(2, 1.9, 1.8));
  search.period_over(losses(2, 1.9, 1.8));
  EXPECT_EQ(search.commits(), 1);
  EXPECT_FALSE(search.searching());
}

TEST(CommitSearch, NeverWantsMoreThanTheSlowestWorkerCanMake) {
  CommitSearch search;
  search.set_most(3);
  double loss = 5;
  const auto more_is_better = [](std::int64_t c) { return 0.01 * static_cast<double>(c); };
  for (int i = 0; i < 10; ++i) {
    train(search, 1, loss, more_is_better);
    EXPECT_LE(search.commits(), 3);
  }
  EXPECT_EQ(search.commits(), 3);
  EXPECT_FALSE(search.searching());
  EXPECT_EQ(search.reason(), "3 commits a period: the slowest worker can make no more");
  search.set_most(2);
  EXPECT_EQ(search.commits(), 2);
  search.set_most(0);
  EXPECT_EQ(search.commits(), 1);
  search.set_most(5);
  search.restart("epoch 2");
  train(search, 10, loss, more_is_better);
  EXPECT_EQ(search.commits(), 5);
  search.set_most(6);
  search.restart("epoch 3");
  train(search, 1, loss, more_is_better);
  EXPECT_EQ(search.commits(), 6);
  search.set_most(5);  // the number being tried is no longer possible
  EXPECT_EQ(search.commits(), 5);
  EXPECT_FALSE(search.searching());
}

TEST(CommitSearch, BeginsAnewWhenTheLossRises) {
  for (const double bad : {2.6, double{NAN}, double{INFINITY}}) {
    CommitSearch search;
    search.period_over(losses(2, 1.9, 1.8));
    search.period_over(losses(2, 1.9, 1.9));
    ASSERT_FALSE(search.searching());
    search.period_over(losses(2, 2, 2.59));
    EXPECT_FALSE(search.searching());
    search.period_over(losses(2, 2, bad));
    EXPECT_TRUE(search.searching());
    EXPECT_EQ(search.commits(), 1);
    search.period_over(losses(2, 1.9, 1.8));
    EXPECT_EQ(search.commits(), 2);
  }
}

// If one more commit makes the loss rise, it is not tried again and again.
TEST(CommitSearch, WhatMakesTheLossRiseEarnsNothing) {
  CommitSearch search;
  search.period_over(losses(2, 1.9, 1.8));
  search.period_over(losses(2, 2, 4));
  EXPECT_EQ(search.commits(), 1);
  EXPECT_FALSE(search.searching());
}

TEST(CommitTimer, CommitsAreDueAtTheirPartsOfThePeriod) {
  CommitTimer timer;
  EXPECT_FALSE(timer.due(1e9));
  timer.begin_period(100, 60, 3);
  EXPECT_FALSE(timer.due(119));
  EXPECT_TRUE(timer.due(120));
  timer.committed(131, 2);  // late, but the next one is not delayed: it should be complete at 140
  EXPECT_FALSE(timer.due(137));
  EXPECT_TRUE(timer.due(138));
  timer.committed(170, 5);       // took long, so the last one is due at once
  EXPECT_FALSE(timer.due(170));  // but not without an iteration
  EXPECT_TRUE(timer.due(171));
  timer.committed(172, 1);
  EXPECT_FALSE(timer.due(1e9));
  timer.begin_period(160, 60, 1);
  EXPECT_FALSE(timer.due(218));
  EXPECT_TRUE(timer.due(219));
  timer.begin_period(220, 60, 0);
  EXPECT_FALSE(timer.due(1e9));
}

TEST(CommitTimer, WhoIsBehindCatchesUp) {
  EXPECT_EQ(commits_for(12, 9), 3);
  EXPECT_EQ(commits_for(12, 12), 0);
  EXPECT_EQ(commits_for(12, 14), 0);
}

// Trains continuously and commits by its timer; counts commits by the period in which they
// complete.
struct SimulatedWorker {
  Random random;
  Seconds iteration, cost;  // upper limits; both may be down to half of that
  Seconds now = 0;
  std::int64_t done = 0;
  std::vector<std::int64_t> in_period = {};

  void run(Seconds gamma, const std::vector<std::int64_t>& target_total) {
    CommitTimer timer;
    in_period.resize(target_total.size(), 0);
    std::size_t begun = 0;
    for (;;) {
      const auto period = static_cast<std::size_t>(now / gamma);
      if (period >= target_total.size()) {
        return;
      }
      if (period >= begun) {
        timer.begin_period(gamma * static_cast<double>(period), gamma,
                           commits_for(target_total[period], done));
        begun = period + 1;
      }
      const bool commit = timer.due(now + 0.75 * iteration);
      now += iteration * (1 - random.uniform() / 2);
      if (commit) {
        const Seconds took = cost * (1 - random.uniform() / 2);
        now += took;
        timer.committed(now, took);
        ++done;
        const auto over = static_cast<std::size_t>(now / gamma);
        if (over < in_period.size()) {
          ++in_period[over];
        }
      }
    }
  }
};

// Speeds up to 1 : 8. The slowest worker can just make its commits, or has spare time.
TEST(CommitTimer, AllMakeAsManyCommitsInEveryPeriod) {
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Random random(seed);
    const Seconds gamma = 60;
    const auto commits = static_cast<std::int64_t>(1 + random.below(12));
    std::vector<std::int64_t> target_total;
    for (std::int64_t period = 1; period <= 30; ++period) {
      target_total.push_back(period * commits);
    }
    std::vector<SimulatedWorker> workers;
    for (std::uint64_t i = 0; i < 2 + random.below(5); ++i) {
      const Seconds round = gamma / static_cast<double>(commits);
      const double costly = 0.8 * random.uniform();
      const double ratio = std::exp2(-3 * random.uniform());
      workers.push_back({Random(seed, i + 1), round * (1 - costly) * ratio, round * costly});
      workers.back().run(gamma, target_total);
    }
    for (std::size_t period = 0; period < target_total.size(); ++period) {
      const auto [least, most] = std::minmax_element(
          workers.begin(), workers.end(),
          [&](const auto& a, const auto& b) { return a.in_period[period] < b.in_period[period]; });
      ASSERT_LE(most->in_period[period] - least->in_period[period], 2)
          << "seed " << seed << ", period " << period << ", " << commits << " commits";
    }
    for (const SimulatedWorker& worker : workers) {
      ASSERT_LE(worker.done, target_total.back());
      ASSERT_GE(worker.done, target_total.back() - 2);
    }
  }
}

}  // namespace
}  // namespace motley
