#include "codec/int8.h"

#include <gtest/gtest.h>

#include <cstring>

#include "codec/any_values.h"

namespace motley {
namespace {

std::vector<std::byte> int8_of(std::span<const float> values, std::uint64_t seed,
                               Machine machine = this_machine()) {
  std::vector<std::byte> bytes(int8_size(values.size()));
  int8_encode(values, seed, bytes, machine);
  return bytes;
}

std::vector<float> read(std::span<const std::byte> bytes, std::size_t count) {
  EXPECT_TRUE(int8_check(bytes));
  std::vector<float> values(count);
  int8_decode(bytes, values);
  return values;
}

float scale_of(std::span<const std::byte> bytes, std::size_t index) {
  float scale;
  std::memcpy(&scale, bytes.data() + index / kInt8Block * (4 + kInt8Block), 4);
  return scale;
}

TEST(Int8, TheErrorIsLessThanTheScale) {
  Random random(1);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto values = normal_values(random, 1 + random.below(1000));
    const auto bytes = int8_of(values, seed);
    const auto back = read(bytes, values.size());
    for (std::size_t block = 0; block < values.size(); block += kInt8Block) {
      float largest = 0;
      for (std::size_t i = block; i < std::min(block + kInt8Block, values.size()); ++i) {
        largest = std::max(largest, std::abs(values[i]));
        ASSERT_LT(std::abs(double{back[i]} - values[i]), scale_of(bytes, i));
      }
      ASSERT_EQ(scale_of(bytes, block), largest / 127);
    }
  }
}

// The mean of many roundings of numbers between two codes. Rounding to nearest would be off by up
// to half a scale, rounding towards zero by up to a whole one; the mean of 4000 unbiased roundings
// has a standard deviation of 0.5 / sqrt(4000) = 0.008 scales.
TEST(Int8, RoundsWithoutBias) {
  constexpr int kRounds = 4000;
  std::vector<float> values(kInt8Block);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = -1 + 2 * static_cast<float>(i) / 255;
  }
  std::vector<double> sums(values.size());
  Encoder encoder({.kind = CodecKind::kInt8}, 7, 0);
  for (int round = 0; round < kRounds; ++round) {
    const auto back = read(encoded(encoder, values), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i] += back[i];
    }
  }
  const double scale = 1.0 / 127;
  double bias = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double error = (sums[i] / kRounds - values[i]) / scale;
    EXPECT_LT(std::abs(error), 5 * 0.008) << values[i];
    bias += error / static_cast<double>(values.size());
  }
  EXPECT_LT(std::abs(bias), 5 * 0.008 / 16);
}

// The roundings of one block, of neighbouring blocks and of successive calls are uncorrelated: the
// sum of the errors grows with the square root of their number.
TEST(Int8, ErrorsAreIndependent) {
  constexpr std::size_t kBlocks = 64;
  constexpr std::size_t kCount = kBlocks * kInt8Block;
  std::vector<float> values(kCount, 0.5F / 127);  // half-way between two codes
  for (std::size_t i = 0; i < kCount; i += kInt8Block) {
    values[i] = 1;
  }
  double squares = 0;
  Encoder encoder({.kind = CodecKind::kInt8}, 8, 0);
  for (int round = 0; round < 200; ++round) {
    const auto back = read(encoded(encoder, values), kCount);
    double sum = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      sum += (double{back[i]} - values[i]) * 127;
    }
    squares += sum * sum / 200;
  }
  // Each error is +-0.5, so the variance of the sum is a quarter of the count. The mean of 200
  // squares has a standard deviation of a tenth of it.
  EXPECT_NEAR(squares / (0.25 * static_cast<double>(kCount - kBlocks)), 1, 0.4);
}

TEST(Int8, OneSeedGivesTheSameBytesAndAnotherDoesNot) {
  Random random(2);
  const auto values = normal_values(random, 10'000);
  EXPECT_EQ(int8_of(values, 1), int8_of(values, 1));
  EXPECT_NE(int8_of(values, 1), int8_of(values, 2));
  EXPECT_NE(int8_of(values, 1), int8_of(values, 1ULL + (1ULL << 32)));
}

TEST(Int8, ExactCodesAreNotChanged) {
  std::vector<float> values;
  for (int code = -127; code <= 127; ++code) {
    values.push_back(static_cast<float>(code) * 0.25F);
  }
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    ASSERT_EQ(read(int8_of(values, seed), values.size()), values);
  }
}

TEST(Int8, VerySmallAndVeryLargeNumbers) {
  using Limits = std::numeric_limits<float>;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    for (const float largest : {Limits::denorm_min(), Limits::min(), 0x1.0p-120F, 0x1.0p-119F,
                                0x1.fffffep126F, Limits::max()}) {
      const std::vector<float> values{largest, -largest, largest / 3, 0, -0.0F};
      const auto bytes = int8_of(values, seed);
      const auto back = read(bytes, values.size());
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_LT(std::abs(double{back[i]} - values[i]), scale_of(bytes, i)) << values[i];
      }
      ASSERT_EQ(back[3], 0);
    }
  }
  const std::vector<float> zeros(300);
  EXPECT_EQ(read(int8_of(zeros, 1), 300), zeros);
}

TEST(Int8, WhatIsNotFiniteArrivesAsNanAndSpoilsNoOther) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> values{1, Limits::infinity(), -0.5F, Limits::quiet_NaN(),
                                  -Limits::infinity()};
  const auto bytes = int8_of(values, 1);
  const auto back = read(bytes, values.size());
  EXPECT_EQ(back[0], 1);
  EXPECT_NEAR(back[2], -0.5, 1.0 / 127);
  for (const std::size_t i : {1U, 3U, 4U}) {
    EXPECT_TRUE(std::isnan(back[i]));
  }
  const std::vector<float> nothing_else{Limits::quiet_NaN()};
  EXPECT_TRUE(std::isnan(read(int8_of(nothing_else, 1), 1)[0]));
}

TEST(Int8, BothFormsGiveTheSameBits) {
  Random random(5);
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const std::size_t count = 1 + random.below(2000);
    const auto values = seed % 2 == 0 ? any_values(random, count) : normal_values(random, count);
    const auto bytes = int8_of(values, seed, Machine::kPortable);
    ASSERT_EQ(bytes, int8_of(values, seed, this_machine()));
    std::vector<float> one(count);
    std::vector<float> other(count);
    int8_decode(bytes, one, Machine::kPortable);
    int8_decode(bytes, other, this_machine());
    ASSERT_EQ(bits_of(one), bits_of(other));
    one = normal_values(random, count);
    other = one;
    int8_add(bytes, 0.3F, one, Machine::kPortable);
    int8_add(bytes, 0.3F, other, this_machine());
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE((std::isnan(one[i]) && std::isnan(other[i])) || one[i] == other[i]);
    }
  }
}

TEST(Int8, AnImpossibleScaleIsAnError) {
  Random random(6);
  const auto values = normal_values(random, 600);
  using Limits = std::numeric_limits<float>;
  for (const float scale : {-1.0F, Limits::infinity(), Limits::quiet_NaN(), Limits::max()}) {
    for (const std::size_t block : {0U, 1U, 2U}) {
      auto bytes = int8_of(values, 1);
      std::memcpy(bytes.data() + block * (4 + kInt8Block), &scale, 4);
      const Status status = int8_check(bytes);
      ASSERT_FALSE(status);
      EXPECT_NE(status.error().message.find(fmt::format("block {}", block)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace motley
