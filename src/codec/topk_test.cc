#include "codec/topk.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codec/any_values.h"

namespace motley {
namespace {

struct Entry {
  std::uint32_t place;
  std::uint32_t bits;
  bool operator==(const Entry&) const = default;
};

std::vector<Entry> entries_of(std::span<const std::byte> bytes) {
  std::vector<Entry> entries(bytes.size() / 8);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    std::memcpy(&entries[i].place, bytes.data() + 4 * i, 4);
    std::memcpy(&entries[i].bits, bytes.data() + 4 * (entries.size() + i), 4);
  }
  return entries;
}

std::vector<Entry> chosen(std::span<const float> values, std::size_t kept,
                          Machine machine = this_machine()) {
  std::array<std::uint32_t, kTopkCounts> counts;
  counts.fill(77);  // what an earlier call left there
  std::vector<std::byte> bytes(topk_size(kept));
  topk_encode(values, kept, bytes, counts, machine);
  EXPECT_TRUE(topk_check(bytes, values.size()));
  return entries_of(bytes);
}

// By sorting: the largest first, NaN above all by its bits, the first of equals first.
std::vector<Entry> expected(std::span<const float> values, std::size_t kept) {
  const auto bits = bits_of(values);
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return (bits[a] & 0x7fffffff) > (bits[b] & 0x7fffffff);
  });
  places.resize(kept);
  std::sort(places.begin(), places.end());
  std::vector<Entry> entries;
  for (const std::uint32_t place : places) {
    entries.push_back({place, bits[place]});
  }
  return entries;
}

// Many of one magnitude, of either sign; or any bits at all; or normal.
std::vector<float> some_values(Random& random, std::size_t count) {
  const std::uint64_t kind = random.below(4);
  auto values = kind == 0 ? any_values(random, count) : normal_values(random, count);
  if (kind > 1) {
    for (float& value : values) {
      value = std::round(value * (kind == 2 ? 1.0F : 30.0F));
    }
  }
  return values;
}

RC_GTEST_PROP(Topk, TakesTheLargestAndExactlySoMany, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const std::size_t count = 1 + random.below(3000);
  const auto values = some_values(random, count);
  const double ratio = 1 - random.uniform();
  const std::size_t kept = topk_count(ratio, count);
  RC_ASSERT(kept == static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(count))));
  const auto entries = chosen(values, kept);
  RC_ASSERT(entries == expected(values, kept));
  RC_ASSERT(entries == chosen(values, kept, Machine::kPortable));
}

TEST(Topk, CountsAreCeilings) {
  EXPECT_EQ(topk_count(0.01, 0), 0U);
  EXPECT_EQ(topk_count(0.01, 1), 1U);
  EXPECT_EQ(topk_count(0.01, 100), 1U);
  EXPECT_EQ(topk_count(0.01, 101), 2U);
  EXPECT_EQ(topk_count(0.25, 7), 2U);
  EXPECT_EQ(topk_count(1e-300, 1000), 1U);
  EXPECT_EQ(topk_count(1, 12345), 12345U);
}

TEST(Topk, OfEqualsTakesTheFirst) {
  const std::vector<float> values{1, -2, 2, 1, -2, 2, 0, -0.0F};
  const auto entries = chosen(values, 3);
  EXPECT_EQ(entries, expected(values, 3));
  EXPECT_EQ(entries[0].place, 1U);
  EXPECT_EQ(entries[1].place, 2U);
  EXPECT_EQ(entries[2].place, 4U);
  const std::vector<float> zeros(1000);
  EXPECT_EQ(chosen(zeros, 10), expected(zeros, 10));
}

// Magnitudes that differ only in their last bits need every level of the search.
TEST(Topk, TellsMagnitudesApartToTheLastBit) {
  Random random(9);
  for (const std::uint32_t mask : {0xfU, 0x3ffU, 0xfffU, 0x3fffffU}) {
    std::vector<float> values(5000);
    for (float& value : values) {
      value =
          std::bit_cast<float>(0x3f800000U + (static_cast<std::uint32_t>(random.next()) & mask));
    }
    for (const std::size_t kept : {1U, 50U, 2500U, 4999U}) {
      ASSERT_EQ(chosen(values, kept), expected(values, kept)) << mask << " " << kept;
    }
  }
}

TEST(Topk, NanIsTheLargestThenInfinity) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values{Limits::max(), -Limits::infinity(), 1, Limits::quiet_NaN(),
                                  std::bit_cast<float>(0xff800001U)};
  const auto places = [&](std::size_t kept) {
    std::vector<std::uint32_t> list;
    for (const Entry& entry : chosen(values, kept)) {
      list.push_back(entry.place);
    }
    return list;
  };
  EXPECT_EQ(places(2), (std::vector<std::uint32_t>{3, 4}));
  EXPECT_EQ(places(3), (std::vector<std::uint32_t>{1, 3, 4}));
  EXPECT_EQ(places(4), (std::vector<std::uint32_t>{0, 1, 3, 4}));
}

TEST(Topk, OfALongBlock) {
  Random random(10);
  const auto values = normal_values(random, 1'000'003);
  EXPECT_EQ(chosen(values, 10'001), expected(values, 10'001));
}

TEST(Topk, PlacesThatCannotBeAreErrors) {
  const std::vector<float> values{5, 4, 3, 2, 1};
  const auto with_places = [&](std::uint32_t a, std::uint32_t b) {
    std::vector<std::byte> bytes(topk_size(2));
    std::memcpy(bytes.data(), &a, 4);
    std::memcpy(bytes.data() + 4, &b, 4);
    return topk_check(bytes, values.size());
  };
  EXPECT_TRUE(with_places(0, 4));
  EXPECT_FALSE(with_places(0, 5));
  EXPECT_FALSE(with_places(0, 0xffffffff));
  EXPECT_FALSE(with_places(3, 3));
  EXPECT_FALSE(with_places(3, 2));
  EXPECT_FALSE(topk_check(std::vector<std::byte>(topk_size(6)), 5));
  EXPECT_FALSE(topk_check(std::vector<std::byte>(7), 5));
  EXPECT_FALSE(topk_check({}, 5));
  EXPECT_TRUE(topk_check({}, 0));
}

}  // namespace
}  // namespace motley
