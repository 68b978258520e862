#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <vector>

namespace motley {
namespace {

// These values define what a seed means: if they change, every recorded run changes.
TEST(Random, FirstValuesOfASeedAreFixed) {
  Random random(1);
  EXPECT_EQ(random.next(), 0xef75d62a19ba94edU);
  EXPECT_EQ(random.next(), 0x8e9490536375f270U);
  EXPECT_EQ(random.next(), 0xc05630b1c614195dU);
  Random stream(0x1234567890abcdefU, 7);
  EXPECT_EQ(stream.next(), 0xea3ee36ef0fef22bU);

  Random other(42);
  std::vector<std::uint64_t> values(5);
  std::ranges::generate(values, [&] { return other.below(1000); });
  EXPECT_EQ(values, (std::vector<std::uint64_t>{573, 325, 30, 471, 200}));
  EXPECT_NEAR(other.uniform(), 0.0270310294549716, 1e-15);
  EXPECT_NEAR(other.normal(), -1.6275842355680314, 1e-12);
}

TEST(Random, StreamsAndSeedsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (std::uint64_t stream = 0; stream < 50; ++stream) {
      firsts.insert(Random(seed, stream).next());
    }
  }
  EXPECT_EQ(firsts.size(), 2500U);
}

TEST(Random, BelowIsInRangeAndEvenlySpread) {
  Random random(3);
  for (std::uint64_t bound : {1ULL, 2ULL, 3ULL, 1000ULL, 1ULL << 63, ~0ULL}) {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_LT(random.below(bound), bound);
    }
  }
  // Three quarters of 2^64: plain `next() % bound` would draw the lowest third twice as often.
  constexpr std::uint64_t kBound = 3ULL << 62;
  constexpr int kDraws = 30'000;
  int low = 0;
  for (int i = 0; i < kDraws; ++i) {
    low += random.below(kBound) < kBound / 3 ? 1 : 0;
  }
  EXPECT_NEAR(low, kDraws / 3.0, 500);
}

TEST(Random, UniformIsInTheUnitInterval) {
  Random random(4);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.uniform();
    ASSERT_GE(x, 0);
    ASSERT_LT(x, 1);
    sum += x;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.005);
}

TEST(Random, NormalHasMeanZeroAndDeviationOne) {
  Random random(5);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / 100'000, 0, 0.02);
  EXPECT_NEAR(squares / 100'000, 1, 0.03);
}

TEST(Random, ShuffleIsAPermutation) {
  for (std::size_t size : {0U, 1U, 2U, 1000U}) {
    std::vector<int> items(size);
    std::iota(items.begin(), items.end(), 0);
    const std::vector<int> sorted = items;
    Random(6).shuffle(std::span(items));
    EXPECT_TRUE(size < 3 || items != sorted);
    std::ranges::sort(items);
    EXPECT_EQ(items, sorted);
  }
}

TEST(Random, ShuffleGivesEveryOrderEquallyOften) {
  Random random(7);
  std::vector<int> counts(6);
  for (int i = 0; i < 60'000; ++i) {
    std::vector<std::size_t> items = {0, 1, 2};
    random.shuffle(std::span(items));
    ++counts[items[0] * 2 + (items[1] > items[2] ? 1 : 0)];
  }
  for (int count : counts) {
    EXPECT_NEAR(count, 10'000, 500);
  }
}

}  // namespace
}  // namespace motley
