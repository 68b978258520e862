#include "codec/topk.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "codec/any_values.h"

namespace motley {
namespace {

struct TopkEntry {
  std::uint32_t place;
  std::uint32_t bits;
  bool operator==(const TopkEntry&) const = default;
};

std::uint32_t word_of(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint32_t word;
  std::memcpy(&word, bytes.subspan(offset, sizeof word).data(), sizeof word);
  return word;
}

// Decodes the format of topk.h independently of the implementation.
std::vector<TopkEntry> entries_of(std::span<const std::byte> bytes, std::size_t count) {
  const std::size_t kept = word_of(bytes, 0);
  const std::size_t bitmap = (count + 31) / 32 * 4;
  std::vector<std::uint32_t> places;
  std::size_t numbers = 4;
  if (kept == count) {
    places.resize(count);
    std::iota(places.begin(), places.end(), 0U);
  } else if (4 * kept <= bitmap) {
    for (std::size_t i = 0; i < kept; ++i) {
      places.push_back(word_of(bytes, 4 + 4 * i));
    }
    numbers += 4 * kept;
  } else {
    for (std::uint32_t i = 0; i < 8 * bitmap; ++i) {
      if ((static_cast<unsigned>(bytes[4 + i / 8]) >> i % 8 & 1) == 1) {
        places.push_back(i);
      }
    }
    numbers += bitmap;
  }
  EXPECT_EQ(places.size(), kept);
  EXPECT_EQ(bytes.size(), numbers + 4 * kept);
  std::vector<TopkEntry> entries;
  for (std::size_t i = 0; i < places.size(); ++i) {
    entries.push_back({places[i], word_of(bytes, numbers + 4 * i)});
  }
  return entries;
}

std::vector<std::byte> bytes_of(std::span<const float> values, std::size_t kept,
                                Machine machine = this_machine()) {
  std::array<std::uint32_t, kTopkCounts> counts;
  counts.fill(77);  // as if left by an earlier call
  std::vector<std::byte> bytes(topk_size(values.size(), kept), std::byte{0xa5});
  topk_encode(values, kept, bytes, counts, machine);
  EXPECT_TRUE(topk_check(bytes, values.size()));
  return bytes;
}

std::vector<TopkEntry> chosen(std::span<const float> values, std::size_t kept,
                              Machine machine = this_machine()) {
  return entries_of(bytes_of(values, kept, machine), values.size());
}

// By sorting: the largest first, NaN above all by its bits, ties in order.
std::vector<TopkEntry> expected(std::span<const float> values, std::size_t kept) {
  const auto bits = bits_of(values);
  std::vector<std::uint32_t> places(values.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return (bits[a] & 0x7fffffff) > (bits[b] & 0x7fffffff);
  });
  places.resize(kept);
  std::sort(places.begin(), places.end());
  std::vector<TopkEntry> entries;
  for (const std::uint32_t place : places) {
    entries.push_back({place, bits[place]});
  }
  return entries;
}

// Many of equal magnitude with either sign; or random bits; or normal numbers.
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
  const double ratio = std::pow(1 - random.uniform(), 3);  // often few enough to be listed
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

TEST(Topk, AmongEqualsTakesTheFirst) {
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
    for (const TopkEntry& entry : chosen(values, kept)) {
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

TEST(Topk, OfALongBlockAsBits) {
  Random random(11);
  const auto values = normal_values(random, 60'007);
  for (const std::size_t kept : {1'876U, 1'877U, 30'001U, 60'006U, 60'007U}) {
    ASSERT_EQ(chosen(values, kept), expected(values, kept)) << kept;
    ASSERT_EQ(bytes_of(values, kept), bytes_of(values, kept, Machine::kPortable)) << kept;
  }
}

RC_GTEST_PROP(Topk, WhatIsReadIsWhatWasChosen, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const std::size_t count = 1 + random.below(300);
  const auto values = some_values(random, count);
  const std::size_t kept = 1 + random.below(count);
  const auto bytes = bytes_of(values, kept);
  std::vector<float> alone(count);
  std::vector<float> rest = values;
  for (const TopkEntry& entry : expected(values, kept)) {
    alone[entry.place] = values[entry.place];
    rest[entry.place] = 0;
  }
  std::vector<float> read(count, 7);
  topk_decode(bytes, read);
  RC_ASSERT(bits_of(read) == bits_of(alone));
  std::vector<float> cleared = values;
  topk_clear(bytes, cleared);
  RC_ASSERT(bits_of(cleared) == bits_of(rest));
}

// Entries that are not encoded stay as they are, to the bit.
TEST(Topk, AddsWhereTheEntriesAre) {
  const std::vector<float> values{1, -8, 3, 5, 0.5F};
  for (const auto& [kept, expected_sum] : std::vector<std::pair<std::size_t, std::vector<float>>>{
           {1, {-0.0F, -16, -0.0F, -0.0F, -0.0F}},
           {3, {-0.0F, -16, 6, 10, -0.0F}},
           {5, {2, -16, 6, 10, 1}}}) {
    std::vector<float> sum(5, -0.0F);
    topk_add(bytes_of(values, kept), 2, sum);
    EXPECT_EQ(bits_of(sum), bits_of(expected_sum)) << kept;
  }
}

// The places take the smallest form, so the whole is never much larger than a copy.
TEST(Topk, SizesFollowFromTheCounts) {
  EXPECT_EQ(topk_size(0, 0), 0U);
  EXPECT_EQ(topk_size(1, 1), 4 + 4U);
  EXPECT_EQ(topk_size(64, 2), 4 + 2 * 8U);
  EXPECT_EQ(topk_size(64, 3), 4 + 8 + 3 * 4U);
  EXPECT_EQ(topk_size(65, 3), 4 + 3 * 8U);
  EXPECT_EQ(topk_size(65, 4), 4 + 12 + 4 * 4U);
  EXPECT_EQ(topk_size(65, 64), 4 + 12 + 64 * 4U);
  EXPECT_EQ(topk_size(65, 65), 4 + 65 * 4U);
  for (std::size_t count = 1; count < 200; ++count) {
    for (std::size_t kept = 1; kept < count; ++kept) {
      const std::size_t bitmap = (count + 31) / 32 * 4;
      ASSERT_EQ(topk_size(count, kept), 4 + 4 * kept + std::min(4 * kept, bitmap));
    }
  }
}

// Byte for byte, so that other machines and versions can read it.
TEST(Topk, OnTheWire) {
  const auto is = [](std::span<const float> values, std::size_t kept,
                     std::vector<std::uint32_t> words) {
    const auto bytes = bytes_of(values, kept);
    ASSERT_EQ(bytes.size(), 4 * words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      EXPECT_EQ(word_of(bytes, 4 * i), words[i]) << i;
    }
  };
  constexpr std::uint32_t kOne = 0x3f800000;
  constexpr std::uint32_t kMinusTwo = 0xc0000000;
  std::vector<float> values(40);
  values[3] = 1;
  values[33] = -2;
  is(values, 1, {1, 33, kMinusTwo});
  is(values, 2, {2, 3, 33, kOne, kMinusTwo});
  is(values, 3, {3, 1U << 3 | 1U, 1U << 1, 0, kOne, kMinusTwo});
  is(std::vector<float>{-2, 1}, 2, {2, kMinusTwo, kOne});
}

std::vector<std::byte> of_words(std::span<const std::uint32_t> words, std::size_t numbers) {
  std::vector<std::byte> bytes(4 * (words.size() + numbers));
  std::memcpy(bytes.data(), words.data(), words.size_bytes());
  return bytes;
}

Status check_words(std::initializer_list<std::uint32_t> words, std::size_t numbers,
                   std::size_t count) {
  const std::vector<std::uint32_t> list(words);
  return topk_check(of_words(list, numbers), count);
}

TEST(Topk, ImpossiblePlacesAreErrors) {
  const auto with_places = [&](std::uint32_t a, std::uint32_t b) {
    return check_words({2, a, b}, 2, 40);
  };
  EXPECT_TRUE(with_places(0, 39));
  EXPECT_FALSE(with_places(0, 40));
  EXPECT_FALSE(with_places(0, 0xffffffff));
  EXPECT_FALSE(with_places(3, 3));
  EXPECT_FALSE(with_places(3, 2));
}

TEST(Topk, ImpossibleBitmapsAreErrors) {
  const auto with_bits = [&](std::uint32_t a, std::uint32_t b) {
    return check_words({3, a, b}, 3, 40);
  };
  EXPECT_TRUE(with_bits(7, 0));
  EXPECT_TRUE(with_bits(1U << 31, 0x81));
  EXPECT_FALSE(with_bits(3, 0));
  EXPECT_FALSE(with_bits(7, 1));
  EXPECT_FALSE(with_bits(3, 0x100));  // three bits, but one beyond the end
  EXPECT_FALSE(with_bits(3, 1U << 31));
  EXPECT_FALSE(with_bits(0, 0));
  EXPECT_FALSE(with_bits(0xffffffff, 0xff));
  EXPECT_TRUE(check_words({3, 7, 0}, 3, 64));
  EXPECT_TRUE(check_words({3, 3, 1U << 31}, 3, 64));  // all 32 bits of the last word are places
}

TEST(Topk, CountsThatDoNotFitTheLengthAreErrors) {
  EXPECT_TRUE(check_words({5}, 5, 5));
  EXPECT_FALSE(check_words({6}, 6, 5));
  EXPECT_FALSE(check_words({0}, 0, 5));
  EXPECT_FALSE(check_words({0}, 5, 5));
  EXPECT_FALSE(check_words({4}, 5, 5));  // long enough for all five, but without a bitmap
  EXPECT_FALSE(check_words({0xffffffff}, 5, 5));
  EXPECT_FALSE(check_words({5}, 4, 5));
  EXPECT_FALSE(check_words({5}, 6, 5));
  EXPECT_FALSE(check_words({1, 0}, 0, 40));
  EXPECT_FALSE(check_words({1, 0}, 2, 40));
  for (const std::size_t size : {0U, 1U, 3U, 7U}) {
    EXPECT_FALSE(topk_check(std::vector<std::byte>(size), 5)) << size;
  }
  EXPECT_TRUE(topk_check({}, 0));
  EXPECT_FALSE(check_words({0}, 0, 0));
}

}  // namespace
}  // namespace motley
