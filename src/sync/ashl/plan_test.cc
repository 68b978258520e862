#include "sync/ashl/plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley {
namespace {

using Profiles = std::vector<WorkerProfile>;

// Compute speeds 1 : 2 : 4, with different links.
Profiles three_workers() { return {{1, 2, 2, 0.1}, {0.5, 1.2, 1.2, 0.1}, {0.25, 0.6, 0.6, 0.1}}; }

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "worker " << i;
  }
}

TEST(Plan, GetHFillsTheRoundOfTheSlowest) {
  struct Row {
    std::int64_t preset;
    Seconds longest;
    std::vector<std::int64_t> iterations;
    std::vector<double> shares;
  };
  for (const Row& row : {Row{4, 8, {4, 11, 27}, {0.0952, 0.2619, 0.6429}},
                         Row{8, 12, {8, 19, 43}, {0.1143, 0.2714, 0.6143}},
                         Row{16, 20, {16, 35, 75}, {0.1270, 0.2778, 0.5952}}}) {
    const Rounds rounds = get_h(three_workers(), row.preset);
    EXPECT_DOUBLE_EQ(rounds.longest, row.longest);
    EXPECT_EQ(rounds.iterations, row.iterations);
    expect_near(rounds.shares, row.shares, 0.5e-4);
  }
}

TEST(Plan, GetRLetsSlowLinksKeepMore) {
  for (const std::int64_t preset : {4, 8, 16}) {
    const auto iterations = get_h(three_workers(), preset).iterations;
    expect_near(get_r(three_workers(), iterations, 0.1), {0.705, 0.5917, 0.1}, 0.5e-4);
    expect_near(get_r(three_workers(), iterations, 0.01), {0.678, 0.5467, 0.01}, 0.5e-4);
  }
}

TEST(Plan, TiesAreRoundedUp) {
  EXPECT_EQ(get_h(Profiles{{1, 0, 0, 0}, {2, 0, 0, 0}, {0.8, 0, 0, 0}}, 1).iterations,
            (std::vector<std::int64_t>{2, 1, 3}));
}

TEST(Plan, WhatTookNoTimeWasNotMeasured) {
  EXPECT_EQ(get_h(Profiles{{0, 1, 1, 0}, {0.5, 1, 1, 0}}, 4).iterations,
            (std::vector<std::int64_t>{4, 4}));
  const Rounds rounds = get_h(Profiles(2), 4);
  EXPECT_EQ(rounds.iterations, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(rounds.shares, (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(get_r(Profiles(2), rounds.iterations, 0.1), (std::vector<double>{1, 1}));
  // An iteration time close to 0 does not make rounds endless.
  EXPECT_EQ(get_h(Profiles{{1, 0, 0, 0}, {1e-300, 0, 0, 0}}, 4).iterations[1], 1'000'000'000);
}

TEST(Plan, OfTwoStages) {
  const Plan plan =
      plan_stages(three_workers(), {.h_preset_ahl = 16, .h_preset_shl = 4, .r_preset = 0.1});
  EXPECT_EQ(plan.ahl.rounds.iterations, (std::vector<std::int64_t>{16, 35, 75}));
  EXPECT_EQ(plan.shl.rounds.iterations, (std::vector<std::int64_t>{4, 11, 27}));
  expect_near(plan.shl.ratios, {0.705, 0.5917, 0.1}, 0.5e-4);
  expect_near(plan.shl.round_time, {7.51, 7.51, 7.51}, 1e-9);
  EXPECT_EQ(plan.reason,
            "AHL: 16 to 75 iterations in 19.5 s, keeping 0.1 to 0.705 of the entries; "
            "SHL: 4 to 27 iterations in 7.51 s, keeping 0.1 to 0.705 of the entries");
}

TEST(Plan, WithoutCompressionKeepsAll) {
  const Plan plan = plan_stages(
      three_workers(), {.h_preset_ahl = 8, .h_preset_shl = 4, .compressed = false, .joint = true});
  EXPECT_EQ(plan.shl.rounds.iterations, (std::vector<std::int64_t>{4, 11, 27}));
  EXPECT_EQ(plan.ahl.ratios, (std::vector<double>{1, 1, 1}));
  expect_near(plan.shl.round_time, {8, 7.9, 7.95}, 1e-9);  // nothing for compressing
}

// 4 + 0.2 + 2 = 6.2, and (6.2 - 1.32) / 0.5 = 9.76, (6.2 - 0.66) / 0.25 = 22.16.
TEST(Plan, JointCountsPushesAsTheyWillBe) {
  const Plan plan =
      plan_stages(three_workers(), {.h_preset_shl = 4, .r_preset = 0.1, .joint = true});
  EXPECT_EQ(plan.shl.rounds.iterations, (std::vector<std::int64_t>{4, 10, 22}));
  EXPECT_DOUBLE_EQ(plan.shl.rounds.longest, 6.2);
  // The slow link no longer keeps many entries: (6.42 - 6.1) / 2. The second worker is the slowest.
  expect_near(plan.shl.ratios, {0.16, 0.1, 0.3667}, 0.5e-4);
}

Seconds any_time(Seconds unit) { return *rc::gen::inRange(0, 10'000) * unit; }

Profiles any_profiles() {
  Profiles profiles(*rc::gen::inRange<std::size_t>(1, 20));
  for (WorkerProfile& profile : profiles) {
    profile = {any_time(1e-3), any_time(1e-2), any_time(1e-2), any_time(1e-4)};
  }
  return profiles;
}

RC_GTEST_PROP(Plan, RoundsAreEqualUpToHalfAnIteration, ()) {
  const Profiles profiles = any_profiles();
  const auto preset = *rc::gen::inRange<std::int64_t>(1, 100);
  const Rounds rounds = get_h(profiles, preset);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    RC_ASSERT(rounds.iterations[i] >= preset);
    if (profiles[i].iteration > 0) {
      const Seconds round = profiles[i].iteration * static_cast<double>(rounds.iterations[i]) +
                            profiles[i].push + profiles[i].pull;
      RC_ASSERT(std::abs(round - rounds.longest) <= profiles[i].iteration / 2 + 1e-9);
    }
  }
}

RC_GTEST_PROP(Plan, SharesAreInProportionToIterations, ()) {
  const Rounds rounds = get_h(any_profiles(), *rc::gen::inRange<std::int64_t>(1, 100));
  RC_ASSERT(std::abs(std::accumulate(rounds.shares.begin(), rounds.shares.end(), 0.0) - 1) < 1e-9);
  for (std::size_t i = 0; i < rounds.shares.size(); ++i) {
    const double a = rounds.shares[i] * static_cast<double>(rounds.iterations[0]);
    const double b = rounds.shares[0] * static_cast<double>(rounds.iterations[i]);
    RC_ASSERT(std::abs(a - b) <= 1e-9 * a);
  }
}

// For any rounds, not only those of GET_H.
RC_GTEST_PROP(Plan, RatiosFillTheLongestCompressedRound, ()) {
  const Profiles profiles = any_profiles();
  const auto iterations = *rc::gen::container<std::vector<std::int64_t>>(
      profiles.size(), rc::gen::inRange<std::int64_t>(1, 100));
  const double preset = *rc::gen::inRange(1, 1'001) * 1e-3;
  const auto ratios = get_r(profiles, iterations, preset);
  const auto round = [&](std::size_t i, double ratio) {
    return profiles[i].iteration * static_cast<double>(iterations[i]) + profiles[i].compress +
           profiles[i].pull + profiles[i].push * ratio;
  };
  Seconds longest = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    if (round(i, preset) > longest) {
      longest = round(i, preset);
      last = i;
    }
  }
  RC_ASSERT(ratios.size() == profiles.size());
  RC_ASSERT(std::abs(ratios[last] - (profiles[last].push > 0 ? preset : 1)) < 1e-6);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    RC_ASSERT(ratios[i] >= preset);
    RC_ASSERT(ratios[i] <= 1);
    RC_ASSERT(round(i, ratios[i]) <= longest + 1e-9);
    if (ratios[i] < 1) {
      RC_ASSERT(round(i, ratios[i]) >= longest - 1e-9);
    }
  }
}

RC_GTEST_PROP(Plan, JointRoundsAreEqualAsCompressed, ()) {
  Profiles profiles = any_profiles();
  PlanOptions options{.h_preset_ahl = *rc::gen::inRange<std::int64_t>(1, 50),
                      .h_preset_shl = *rc::gen::inRange<std::int64_t>(1, 50),
                      .r_preset = *rc::gen::inRange(1, 1'001) * 1e-3,
                      .compressed = true,
                      .joint = true};
  const Plan plan = plan_stages(profiles, options);
  for (WorkerProfile& profile : profiles) {
    profile.push *= options.r_preset;
  }
  RC_ASSERT(plan.ahl.rounds.iterations == get_h(profiles, options.h_preset_ahl).iterations);
  RC_ASSERT(plan.shl.rounds.iterations == get_h(profiles, options.h_preset_shl).iterations);
}

// Each sample has its worker's weight; the mean over all samples is 1/n for any shares.
RC_GTEST_PROP(Plan, TheMeanSampleCountsAsMuchAsAmongEqualWorkers, ()) {
  std::vector<double> shares(*rc::gen::inRange<std::size_t>(1, 10));
  double sum = 0;
  for (double& share : shares) {
    share = *rc::gen::inRange(1, 100);
    sum += share;
  }
  double mean = 0;
  for (double& share : shares) {
    share /= sum;
  }
  const std::vector<double> weights = commit_weights(shares);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    mean += shares[i] * weights[i];
    RC_ASSERT(std::abs(weights[i] / weights[0] - shares[i] / shares[0]) < 1e-9);
  }
  RC_ASSERT(std::abs(mean * static_cast<double>(shares.size()) - 1) < 1e-9);
}

}  // namespace
}  // namespace motley
