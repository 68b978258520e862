#include "allocate/adaptive.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

constexpr double kDeadBand = 0.005;  // the default of a job

Seconds longest_step(const Shares& shares, const std::vector<StepCost>& costs) {
  Seconds longest = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    longest = std::max(longest, costs[i].of(shares[i]));
  }
  return longest;
}

// Workers whose steps cost what `true_cost` says, measured over windows of 10 steps, with shares
// that follow adaptive_shares: self-adaptive allocation without a run around it.
class Workers {
 public:
  Workers(std::size_t total, std::vector<StepCost> true_costs)
      : costs(std::move(true_costs)), shares(equal_shares(total, static_cast<int>(costs.size()))) {
    for (const StepCost& cost : costs) {
      speeds_.emplace_back(cost.micro_batch);
    }
  }

  // Runs one window. `jitter` is the relative standard deviation of a step's time. Returns true if
  // the shares changed.
  bool window(double jitter = 0) {
    std::vector<StepCost> measured;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      for (int step = 0; step < 10; ++step) {
        speeds_[i].add(shares[i], costs[i].of(shares[i]) * (1 + jitter * random_.normal()));
      }
      measured.push_back(speeds_[i].end_window());
    }
    const Decision decision = adaptive_shares(shares, measured, kDeadBand);
    EXPECT_FALSE(decision.reason.empty());
    const bool changed = decision.shares != shares;
    shares = decision.shares;
    return changed;
  }

  Seconds step() const { return longest_step(shares, costs); }

  // The shortest possible step if samples were divisible.
  Seconds best() const {
    const std::size_t total = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
    const auto balanced = balanced_shares(total, costs);
    Seconds longest = 0;
    for (std::size_t i = 0; i < costs.size(); ++i) {
      longest = std::max(longest, costs[i].fixed + balanced[i] * costs[i].per_sample);
    }
    return longest;
  }

  std::vector<StepCost> costs;
  Shares shares;

 private:
  std::vector<SpeedEstimate> speeds_;
  Random random_{7};
};

StepCost linear(double speed) { return {0, 1e-3 / speed, 0}; }
StepCost affine(Seconds fixed, double speed) { return {fixed, 1e-3 / speed, 0}; }

std::vector<double> any_speeds(int most_workers, double most_ratio) {
  const int workers = *rc::gen::inRange(2, most_workers + 1);
  return *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(workers), rc::gen::map(rc::gen::inRange(0, 1'001), [=](int x) {
        return 1 + x * 1e-3 * (most_ratio - 1);
      }));
}

RC_GTEST_PROP(BalancedShares, MakeAllWorkersTakeEquallyLong, ()) {
  std::vector<StepCost> costs;
  for (double speed : any_speeds(64, 8)) {
    costs.push_back(affine(1e-3 * *rc::gen::inRange(0, 20), speed));
  }
  const std::size_t total = 500 * costs.size();
  const auto shares = balanced_shares(total, costs);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  RC_ASSERT(std::abs(sum / static_cast<double>(total) - 1) < 1e-9);
  const Seconds step = costs[0].fixed + shares[0] * costs[0].per_sample;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    RC_ASSERT(std::abs((costs[i].fixed + shares[i] * costs[i].per_sample) / step - 1) < 1e-9);
  }
}

TEST(BalancedShares, LeaveOneSampleToAWorkerThatIsTooSlowForIt) {
  const auto shares = balanced_shares(101, std::vector{affine(10, 1), linear(1)});
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_NEAR(shares[1], 100, 1e-6);
}

// Shares add up and are at least one, whatever was measured.
RC_GTEST_PROP(AdaptiveShares, AddUpAndAreAtLeastOne, ()) {
  const int workers = *rc::gen::inRange(1, 65);
  const auto total = static_cast<std::size_t>(workers) + *rc::gen::inRange<std::size_t>(0, 5'000);
  std::vector<StepCost> costs;
  for (int i = 0; i < workers; ++i) {
    costs.push_back({1e-6 * *rc::gen::inRange(0, 1'000'000), 1e-9 * *rc::gen::inRange(0, 1'000'000),
                     1e-3 * *rc::gen::inRange(0, 1'000)});
  }
  const Shares before = equal_shares(total, workers);
  const Decision decision = adaptive_shares(before, costs, 0.01);
  RC_ASSERT(decision.shares.size() == before.size());
  RC_ASSERT(std::accumulate(decision.shares.begin(), decision.shares.end(), std::size_t{0}) ==
            total);
  RC_ASSERT(std::ranges::min(decision.shares) >= 1U);
  RC_ASSERT(adaptive_shares(before, costs, 0.01).shares == decision.shares);
}

RC_GTEST_PROP(AdaptiveShares, LinearCostsAreRightAfterOneUpdate, ()) {
  const auto speeds = any_speeds(64, 8);
  std::vector<StepCost> costs;
  for (double speed : speeds) {
    costs.push_back(linear(speed));
  }
  const std::size_t total = 200 * costs.size();
  Workers workers(total, costs);
  const Seconds before = workers.step();
  const bool changed = workers.window();
  const Shares proportional = integer_shares(total, speeds);
  if (changed) {
    for (std::size_t i = 0; i < speeds.size(); ++i) {
      const auto off = static_cast<std::ptrdiff_t>(workers.shares[i]) -
                       static_cast<std::ptrdiff_t>(proportional[i]);
      RC_ASSERT(std::abs(off) <= 1);  // a tie of remainders may be broken either way
    }
  } else {
    RC_ASSERT(before <
              workers.best() / (1 - 1.01 * kDeadBand) + 1e-3);  // nothing to gain, up to one sample
  }
  for (int window = 0; window < 20; ++window) {
    RC_ASSERT(!workers.window());
  }
}

RC_GTEST_PROP(AdaptiveShares, AffineCostsAreBestWithinFourWindows, ()) {
  std::vector<StepCost> costs;
  for (double speed : any_speeds(32, 8)) {
    costs.push_back(affine(1e-3 * *rc::gen::inRange(0, 400), speed));
  }
  Workers workers(400 * costs.size(), costs);
  for (int window = 0; window < 4; ++window) {
    workers.window();
  }
  RC_ASSERT(workers.step() <= 1.02 * workers.best());
}

// Also with a fixed cost. (For events in the middle of a window see sync/allocation_test.cc.)
RC_GTEST_PROP(AdaptiveShares, AreBestAgainTwoWindowsAfterASpeedEvent, ()) {
  std::vector<StepCost> costs;
  for (double speed : any_speeds(16, 4)) {
    costs.push_back(affine(1e-3 * *rc::gen::inRange(0, 40), speed));
  }
  Workers workers(400 * costs.size(), costs);
  for (int window = 0; window < 8; ++window) {
    workers.window();
  }
  const auto rank = *rc::gen::inRange<std::size_t>(0, costs.size());
  const auto factor = *rc::gen::element(0.25, 0.5, 2.0, 4.0);
  workers.costs[rank].per_sample *= factor;
  workers.window();
  workers.window();
  RC_ASSERT(workers.step() <= 1.02 * workers.best());
}

// With 5 % jitter the shares settle, and they are good.
TEST(AdaptiveShares, DoNotOscillate) {
  for (const std::size_t n : {2U, 4U, 16U, 64U}) {
    std::vector<StepCost> costs;
    for (std::size_t i = 0; i < n; ++i) {
      costs.push_back(affine(0.01, i % 2 == 0 ? 1 : 2.5));
    }
    Workers workers(256 * n, costs);
    workers.window(0.05);
    workers.window(0.05);
    int changes = 0;
    for (int window = 0; window < 300; ++window) {
      changes += workers.window(0.05) ? 1 : 0;
    }
    EXPECT_LE(changes, 3) << n << " workers";
    EXPECT_LE(workers.step(), 1.05 * workers.best()) << n << " workers";
  }
}

// Workers with a fixed cost per part, and with micro-batches of 1 to `most` samples.
std::vector<StepCost> any_in_parts(std::size_t workers, std::size_t most) {
  std::vector<StepCost> costs;
  for (std::size_t i = 0; i < workers; ++i) {
    costs.push_back(affine(1e-3 * *rc::gen::inRange(0, 50), 1 + 0.01 * *rc::gen::inRange(0, 700)));
    costs.back().micro_batch = *rc::gen::weightedOneOf<std::size_t>(
        {{3, rc::gen::inRange<std::size_t>(1, most + 1)}, {1, rc::gen::just(kWholeShare)}});
  }
  return costs;
}

Seconds longest_of_one_sample(const std::vector<StepCost>& costs) {
  return std::ranges::max_element(costs, {}, &StepCost::per_sample)->per_sample;
}

// The shortest possible step of all divisions over three workers.
Seconds best_of_all(std::size_t total, const std::vector<StepCost>& costs) {
  Seconds best = std::numeric_limits<Seconds>::infinity();
  for (std::size_t a = 1; a + 2 <= total; ++a) {
    for (std::size_t b = 1; a + b + 1 <= total; ++b) {
      best = std::min(best, longest_step({a, b, total - a - b}, costs));
    }
  }
  return best;
}

// As good as any division, up to one sample that cannot be divided.
RC_GTEST_PROP(BalancedShares, InPartsAreTheBestOfAllDivisions, ()) {
  const auto costs = any_in_parts(3, 40);
  const auto total = *rc::gen::inRange<std::size_t>(3, 150);
  const Shares shares = integer_shares(total, balanced_shares(total, costs));
  const Seconds best = best_of_all(total, costs);
  RC_ASSERT(longest_step(shares, costs) <= best + longest_of_one_sample(costs) + 1e-9);
  RC_ASSERT(total < 100 || longest_step(shares, costs) <= 1.05 * best);
}

RC_GTEST_PROP(BalancedShares, InPartsAreNoWorseThanIfPartsWereIgnored, ()) {
  const auto costs = any_in_parts(*rc::gen::inRange<std::size_t>(2, 20), 100);
  const std::size_t total = costs.size() * *rc::gen::inRange<std::size_t>(1, 300);
  std::vector<StepCost> ignorant = costs;
  for (StepCost& cost : ignorant) {
    cost.micro_batch = kWholeShare;
  }
  const Shares aware = integer_shares(total, balanced_shares(total, costs));
  const Shares unaware = integer_shares(total, balanced_shares(total, ignorant));
  RC_ASSERT(longest_step(aware, costs) <=
            longest_step(unaware, costs) + longest_of_one_sample(costs) + 1e-9);
}

// Found from the times of steps alone. Not always: if all workers happen to take equally long at
// once, nobody's share changes, and a share just past the end of a part stays unnoticed.
TEST(AdaptiveShares, InPartsAreNearlyAlwaysTheBestAfterEightWindows) {
  constexpr int kClusters = 400;
  Random random(11);
  double ratios = 0;
  int far_off = 0;
  for (int cluster = 0; cluster < kClusters; ++cluster) {
    std::vector<StepCost> costs;
    for (std::size_t n = 2 + random.below(15); costs.size() < n;) {
      costs.push_back(affine(1e-3 * static_cast<double>(random.below(50)),
                             1 + 0.01 * static_cast<double>(random.below(700))));
      costs.back().micro_batch = random.below(4) > 0 ? 1 + random.below(200) : kWholeShare;
    }
    const std::size_t total = 200 * costs.size();
    Workers workers(total, costs);
    for (int window = 0; window < 8; ++window) {
      workers.window();
    }
    const Shares best = integer_shares(total, balanced_shares(total, costs));
    const double ratio = workers.step() / longest_step(best, costs);
    ratios += ratio / kClusters;
    far_off += ratio > 1.05 ? 1 : 0;
  }
  EXPECT_LE(ratios, 1.01);
  EXPECT_LE(far_off, kClusters / 50);
}

// A share of one part more would be shorter if only its samples counted.
TEST(AdaptiveShares, StopAtTheEndOfAPart) {
  std::vector<StepCost> costs{affine(0.05, 1), affine(0.05, 1)};
  costs[1].micro_batch = 100;
  const Decision decision = adaptive_shares({120, 120}, costs, kDeadBand);
  EXPECT_EQ(decision.shares, (Shares{140, 100}));
}

TEST(AdaptiveShares, AreLeftAloneInTheDeadBand) {
  const Shares shares{100, 100};
  const std::vector<StepCost> costs{{0, 1, 0}, {0, 1.03, 0}};
  EXPECT_EQ(adaptive_shares(shares, costs, 0.05).shares, shares);
  EXPECT_NE(adaptive_shares(shares, costs, 0.01).shares, shares);
}

TEST(AdaptiveShares, AreLeftAloneWhenNoiseExplainsTheDifference) {
  const Shares shares{100, 100};
  std::vector<StepCost> costs{{0, 1, 0.01}, {0, 1.2, 0.05}};
  EXPECT_EQ(adaptive_shares(shares, costs, 0.01).shares, shares);
  costs[1].error = 0.01;
  EXPECT_NE(adaptive_shares(shares, costs, 0.01).shares, shares);
}

TEST(AdaptiveShares, WaitUntilEverybodyIsMeasured) {
  const Shares shares{5, 5};
  const Decision decision = adaptive_shares(shares, std::vector<StepCost>{{0, 1, 0}, {}}, 0.01);
  EXPECT_EQ(decision.shares, shares);
  EXPECT_NE(decision.reason.find("not every worker"), std::string::npos);
}

TEST(AdaptiveShares, SayWhy) {
  const Decision decision = adaptive_shares(
      {64, 64, 64, 64}, std::vector{linear(1), linear(1), linear(1), linear(0.25)}, 0.01);
  EXPECT_EQ(decision.shares, (Shares{79, 79, 79, 19}));
  EXPECT_EQ(decision.reason, "worker 3 took longest: 256 ms a step, now 79 ms, 69 % less");
}

}  // namespace
}  // namespace motley
