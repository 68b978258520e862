#include "allocate/keyed_permutation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <vector>

namespace motley {
namespace {

using Order = std::vector<std::uint64_t>;

Order part_of(std::uint64_t size, const Random& keys, std::uint64_t begin, std::uint64_t count) {
  Order part(count);
  KeyedPermutation(size, keys).fill(begin, part);
  return part;
}

Order order_of(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch = 0) {
  return part_of(size, Random(seed, epoch), 0, size);
}

bool has_each_once(const Order& order) {
  std::vector<bool> seen(order.size());
  for (const std::uint64_t number : order) {
    if (number >= order.size() || seen[number]) {
      return false;
    }
    seen[number] = true;
  }
  return true;
}

// By how many of its standard deviations the chi-square of these counts misses its mean, when all
// are equally likely. The seeds of the tests are fixed: what holds once always holds.
template <class Counts>
double surprise(const Counts& counts, double expected) {
  double chi_square = 0;
  for (const double count : counts) {
    chi_square += (count - expected) * (count - expected) / expected;
  }
  const auto freedom = static_cast<double>(std::size(counts) - 1);
  return (chi_square - freedom) / std::sqrt(2 * freedom);
}

// Of pairs of numbers below `size`: 0 when they have nothing to do with each other, else up to 1.
double correlation(std::span<const std::uint64_t> xs, std::span<const std::uint64_t> ys,
                   std::uint64_t size) {
  const double mean = (static_cast<double>(size) - 1) / 2;
  const double variance = (static_cast<double>(size) * static_cast<double>(size) - 1) / 12;
  double sum = 0;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    sum += (static_cast<double>(xs[i]) - mean) * (static_cast<double>(ys[i]) - mean);
  }
  return sum / variance / static_cast<double>(xs.size());
}

TEST(KeyedPermutation, HasEveryNumberOnceForEverySize) {
  for (std::uint64_t size = 1; size <= 4'000; ++size) {
    ASSERT_TRUE(has_each_once(order_of(size, 1))) << size;
  }
}

RC_GTEST_PROP(KeyedPermutation, HasEveryNumberOnceForEveryKey, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 100'000);
  RC_ASSERT(has_each_once(
      order_of(size, *rc::gen::arbitrary<std::uint64_t>(), *rc::gen::arbitrary<std::uint64_t>())));
}

RC_GTEST_PROP(KeyedPermutation, AnyPlaceCanBeAskedFor, ()) {
  const auto size = *rc::gen::inRange<std::uint64_t>(1, 5'000);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto begin = *rc::gen::inRange<std::uint64_t>(0, size + 1);
  const auto count = *rc::gen::inRange<std::uint64_t>(0, size - begin + 1);
  const Order whole = order_of(size, seed);
  RC_ASSERT(std::ranges::equal(part_of(size, Random(seed), begin, count),
                               std::span(whole).subspan(begin, count)));
}

TEST(KeyedPermutation, AnySizeTakesTheSameMemory) {
  static_assert(sizeof(KeyedPermutation) <= 256);
  for (const std::uint64_t size : {std::uint64_t{1'000'000'000}, (std::uint64_t{1} << 63) - 1}) {
    constexpr std::uint64_t kCount = 10'000;
    Order part = part_of(size, Random(1), size - kCount, kCount);
    std::vector<int> parts(10);
    for (const std::uint64_t number : part) {
      ASSERT_LT(number, size);
      ++parts[number / (size / 10 + 1)];
    }
    EXPECT_LT(surprise(parts, kCount / 10.0), 4);
    std::ranges::sort(part);
    EXPECT_EQ(std::ranges::adjacent_find(part), part.end());
  }
}

TEST(KeyedPermutation, EveryOrderOfAFewNumbersIsEquallyLikely) {
  for (std::uint64_t size = 2, orders = 2; size <= 6; ++size, orders *= size) {
    std::map<Order, int> counts;
    const std::uint64_t draws = 200 * orders;
    for (std::uint64_t seed = 0; seed < draws; ++seed) {
      ++counts[order_of(size, seed)];
    }
    ASSERT_EQ(counts.size(), orders);
    std::vector<int> how_often;
    for (const auto& [order, count] : counts) {
      how_often.push_back(count);
    }
    EXPECT_LT(surprise(how_often, 200), 4) << size;
  }
}

TEST(KeyedPermutation, EveryNumberIsEquallyLikelyAtEveryPlace) {
  for (const std::uint64_t size : {20U, 100U, 1'200U}) {
    for (const std::uint64_t place : {std::uint64_t{0}, size / 3, size - 1}) {
      std::vector<int> counts(size);
      for (std::uint64_t seed = 0; seed < 20 * size; ++seed) {
        ++counts[part_of(size, Random(seed), place, 1)[0]];
      }
      EXPECT_LT(surprise(counts, 20), 4) << place << " of " << size;
    }
  }
}

// The numbers of two places, in the boxes of a chessboard.
TEST(KeyedPermutation, NeighboursKnowNothingOfEachOther) {
  for (const std::uint64_t size : {64U, 1'024U, 1'040U, 65'536U}) {
    constexpr std::uint64_t kSide = 8;
    constexpr std::uint64_t kPairs = 200'000;
    const std::uint64_t orders = 2 * kPairs / size + 1;
    std::vector<int> boxes(kSide * kSide);
    int pairs = 0;
    for (std::uint64_t seed = 0; seed < orders; ++seed) {
      const Order order = order_of(size, seed);
      for (std::size_t i = 0; i + 1 < order.size(); i += 2, ++pairs) {
        ++boxes[order[i] * kSide / size * kSide + order[i + 1] * kSide / size];
      }
      const double together =
          correlation(std::span(order).first(size - 1), std::span(order).subspan(1), size);
      EXPECT_LT(std::abs(together), 5 / std::sqrt(static_cast<double>(size))) << size;
    }
    if (size > 1'000) {  // with few numbers two that differ are seldom in one box
      EXPECT_LT(surprise(boxes, pairs / static_cast<double>(boxes.size())), 4) << size;
    }
  }
}

TEST(KeyedPermutation, EpochsAndSeedsKnowNothingOfEachOther) {
  constexpr std::uint64_t kSize = 50'000;
  const double bound = 4 / std::sqrt(static_cast<double>(kSize));
  for (std::uint64_t i = 0; i < 20; ++i) {
    const Order order = order_of(kSize, i, i);
    EXPECT_LT(std::abs(correlation(order, order_of(kSize, i, i + 1), kSize)), bound);
    EXPECT_LT(std::abs(correlation(order, order_of(kSize, i + 1, i), kSize)), bound);
    std::vector<int> distances(100);
    const Order next = order_of(kSize, i, i + 1);
    for (std::size_t place = 0; place < kSize; ++place) {
      ++distances[(order[place] + kSize - next[place]) % kSize * distances.size() / kSize];
    }
    EXPECT_LT(surprise(distances, kSize / 100.0), 4);
  }
}

// A batch is a fair draw: its numbers are as unevenly spread as those of any draw, no more or less.
TEST(KeyedPermutation, ABatchIsAFairDraw) {
  constexpr std::uint64_t kSize = 60'000;
  constexpr std::uint64_t kBatch = 600;
  constexpr std::size_t kBins = 20;
  const Order order = order_of(kSize, 11);
  double sum = 0;
  for (std::size_t begin = 0; begin < kSize; begin += kBatch) {
    std::vector<int> bins(kBins);
    for (const std::uint64_t number : std::span(order).subspan(begin, kBatch)) {
      ++bins[number * kBins / kSize];
    }
    sum += surprise(bins, static_cast<double>(kBatch) / kBins);
  }
  EXPECT_LT(std::abs(sum / std::sqrt(kSize / kBatch)), 4);
}

}  // namespace
}  // namespace motley
