#include "allocate/shares.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley {
namespace {

std::size_t sum(const Shares& shares) {
  return std::accumulate(shares.begin(), shares.end(), std::size_t{0});
}

std::vector<double> any_weights(int most_workers) {
  const int workers = *rc::gen::inRange(1, most_workers);
  return *rc::gen::container<std::vector<double>>(
      static_cast<std::size_t>(workers),
      rc::gen::map(rc::gen::inRange(1, 1'000'000), [](int w) { return w * 1e-3; }));
}

TEST(EqualShares, GiveTheRestToTheFirstRanks) {
  EXPECT_EQ(equal_shares(10, 4), (Shares{3, 3, 2, 2}));
  EXPECT_EQ(equal_shares(2, 4), (Shares{1, 1, 0, 0}));
  EXPECT_EQ(equal_shares(0, 2), (Shares{0, 0}));
}

RC_GTEST_PROP(EqualShares, AddUpAndDifferByOneAtMost, ()) {
  const auto total = *rc::gen::inRange<std::size_t>(0, 100'000);
  const auto workers = *rc::gen::inRange(1, 500);
  const auto shares = equal_shares(total, workers);
  RC_ASSERT(shares.size() == static_cast<std::size_t>(workers));
  RC_ASSERT(sum(shares) == total);
  const auto [least, most] = std::ranges::minmax(shares);
  RC_ASSERT(most - least <= 1);
}

TEST(IntegerShares, RoundByLargestRemainderAndBreakTiesByRank) {
  const auto shares = [](std::size_t total, std::vector<double> weights) {
    return integer_shares(total, weights);
  };
  EXPECT_EQ(shares(256, {1, 1, 1, 0.25}), (Shares{79, 79, 79, 19}));  // 78.77 and 19.69
  EXPECT_EQ(shares(10, {1, 1, 1, 1}), (Shares{3, 3, 2, 2}));
  EXPECT_EQ(shares(10, {3, 3, 3, 1}), (Shares{3, 3, 3, 1}));
  EXPECT_EQ(shares(100, {49.6, 49.6, 0.8}), (Shares{50, 49, 1}));
  EXPECT_EQ(shares(7, {1}), (Shares{7}));
}

TEST(IntegerShares, GiveEveryoneASampleWhileThereAreEnough) {
  EXPECT_EQ(integer_shares(4, std::vector<double>{1e9, 1e-6, 1e-6, 1e-6}), (Shares{1, 1, 1, 1}));
  EXPECT_EQ(integer_shares(8, std::vector<double>{1e9, 1e-6, 1e-6, 1e9}), (Shares{3, 1, 1, 3}));
  EXPECT_EQ(integer_shares(2, std::vector<double>{1, 5, 1, 5}), (Shares{0, 1, 0, 1}));
  EXPECT_EQ(integer_shares(0, std::vector<double>{1, 5}), (Shares{0, 0}));
}

RC_GTEST_PROP(IntegerShares, AddUpAreAtLeastOneAndNextToTheirProportion, ()) {
  const auto weights = any_weights(200);
  const auto total = *rc::gen::inRange<std::size_t>(0, 100'000);
  const auto shares = integer_shares(total, weights);
  RC_ASSERT(sum(shares) == total);
  if (total < weights.size()) {
    return;
  }
  const double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  const bool all_fit = std::ranges::all_of(
      weights, [&](double w) { return static_cast<double>(total) * w / weight >= 1; });
  for (std::size_t i = 0; i < shares.size(); ++i) {
    RC_ASSERT(shares[i] >= 1U);
    const double exact = static_cast<double>(total) * weights[i] / weight;
    RC_ASSERT(!all_fit || std::abs(static_cast<double>(shares[i]) - exact) < 1 + 1e-6);
  }
}

// A faster worker never gets less, and only proportions matter.
RC_GTEST_PROP(IntegerShares, FollowTheOrderOfTheWeightsAndNotTheirScale, ()) {
  auto weights = any_weights(50);
  const auto total = *rc::gen::inRange<std::size_t>(0, 10'000);
  const auto shares = integer_shares(total, weights);
  for (std::size_t i = 1; i < weights.size(); ++i) {
    RC_ASSERT(weights[i] < weights[0] || shares[i] + 1 >= shares[0]);
    RC_ASSERT(weights[i] > weights[0] || shares[i] <= shares[0]);
  }
  for (double& weight : weights) {
    weight *= 1024;
  }
  RC_ASSERT(integer_shares(total, weights) == shares);
}

// The total stays, nobody has too little, and as many as possible have something.
RC_GTEST_PROP(WithoutSmallShares, EverybodyHasEnoughOrNothing, ()) {
  const auto least = *rc::gen::inRange<std::size_t>(1, 5);
  const auto shares =
      *rc::gen::nonEmpty(rc::gen::container<Shares>(rc::gen::inRange<std::size_t>(0, 9)));
  const Shares now = without_small_shares(shares, least);
  const auto total = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  RC_ASSERT(now.size() == shares.size());
  RC_ASSERT(std::accumulate(now.begin(), now.end(), std::size_t{0}) == total);
  const auto have = [](const Shares& all) {
    return static_cast<std::size_t>(std::ranges::count_if(all, [](auto s) { return s > 0; }));
  };
  if (total < least) {
    RC_ASSERT(have(now) == std::min<std::size_t>(total, 1));
    return;
  }
  for (std::size_t i = 0; i < now.size(); ++i) {
    RC_ASSERT(now[i] == 0 || now[i] >= least);
    RC_ASSERT(now[i] == 0 || shares[i] > 0);
  }
  RC_ASSERT(have(now) == std::min(have(shares), total / least));
  RC_ASSERT(without_small_shares(now, least) == now);
}

TEST(WithoutSmallShares, TakesFromTheLargest) {
  EXPECT_EQ(without_small_shares({5, 1, 4}, 2), (Shares{5, 2, 3}));
  EXPECT_EQ(without_small_shares({2, 1, 1, 1}, 2), (Shares{3, 2, 0, 0}));
  EXPECT_EQ(without_small_shares({1, 0, 0}, 2), (Shares{1, 0, 0}));
  EXPECT_EQ(without_small_shares({7, 2, 3}, 2), (Shares{7, 2, 3}));
}

}  // namespace
}  // namespace motley
