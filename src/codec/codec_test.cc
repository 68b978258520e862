#include "codec/codec.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "codec/any_values.h"

namespace motley {
namespace {

TEST(Codec, SizesOnTheWire) {
  constexpr std::size_t kCount = 1'000'000;
  const auto part = [](const CodecOptions& options) {
    return static_cast<double>(encoded_size(options, kCount)) / (4.0 * kCount);
  };
  EXPECT_EQ(part({.kind = CodecKind::kNone}), 1);
  EXPECT_EQ(part({.kind = CodecKind::kFp16}), 0.5);
  EXPECT_EQ(part({.kind = CodecKind::kBf16}), 0.5);
  EXPECT_LE(part({.kind = CodecKind::kInt8}), 0.27);
  EXPECT_LE(part({.kind = CodecKind::kTopk, .ratio = 0.01}), 0.0201);
  EXPECT_NEAR(part({.kind = CodecKind::kTopk, .ratio = 0.1}), 0.13125, 1e-5);
  EXPECT_NEAR(part({.kind = CodecKind::kTopk, .ratio = 0.5}), 0.53125, 1e-5);
  EXPECT_NEAR(part({.kind = CodecKind::kTopk, .ratio = 1}), 1, 1e-5);
  EXPECT_LE(encoded_size({.kind = CodecKind::kTopk, .ratio = 0.01}, 1000), 4000 * 0.025);
  EXPECT_EQ(encoded_size({.kind = CodecKind::kInt8}, 256), 260U);
  EXPECT_EQ(encoded_size({.kind = CodecKind::kInt8}, 257), 265U);
  EXPECT_EQ(encoded_size({.kind = CodecKind::kTopk, .ratio = 0.01}, 101), 20U);
}

TEST(Codec, OfNothingIsNothing) {
  for (const CodecKind kind : kAllCodecs) {
    for (const bool feedback : {false, true}) {
      Encoder encoder({.kind = kind, .error_feedback = feedback}, 1, 0);
      EXPECT_EQ(encoded_size(encoder.options(), 0), 0U);
      encoder.encode({}, {});
      EXPECT_TRUE(decode(kind, {}, {}));
      EXPECT_TRUE(add_decoded(kind, {}, 1, {}));
    }
  }
}

// A missing gradient is marked by it (api/module_gradients.h).
TEST(Codec, FloatsOfAnySizeKeepTheSignOfZero) {
  for (const CodecKind kind : {CodecKind::kNone, CodecKind::kFp16, CodecKind::kBf16}) {
    for (const bool feedback : {false, true}) {
      const CodecOptions options{.kind = kind, .error_feedback = feedback};
      Encoder encoder(options, 1, 1);
      const std::vector<float> values{-0.0F, 0, 1, 0.1F};
      std::vector<std::byte> bytes(encoded_size(options, values.size()));
      std::vector<float> decoded(values.size());
      for (int message = 0; message < 3; ++message) {
        encoder.encode(values, bytes);
        ASSERT_TRUE(decode(kind, bytes, decoded));
        EXPECT_TRUE(std::signbit(decoded[0])) << message;
        EXPECT_FALSE(std::signbit(decoded[1]));
      }
    }
  }
}

TEST(Codec, WhatLosesNothingKeepsEveryBit) {
  Random random(1);
  for (const std::size_t count : {1U, 17U, 5000U}) {
    const auto values = any_values(random, count);
    for (const CodecOptions& options :
         {CodecOptions{.kind = CodecKind::kNone},
          CodecOptions{.kind = CodecKind::kNone, .error_feedback = true},
          CodecOptions{.kind = CodecKind::kTopk, .ratio = 1}}) {
      Encoder encoder(options, 1, 0);
      std::vector<float> back(count, 5);
      ASSERT_TRUE(decode(options.kind, encoded(encoder, values), back));
      EXPECT_EQ(bits_of(back), bits_of(values));
    }
  }
}

// Received bytes can be at any address.
TEST(Codec, AddingIsDecodingAndAddingWhereverTheBytesLie) {
  Random random(2);
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = 1 + random.below(2000);
    const auto values = normal_values(random, count);
    const auto weight = static_cast<float>(random.normal());
    for (const CodecKind kind : kAllCodecs) {
      const double ratio =
          std::array{0.02, 0.3, 1.0}[random.below(3)];  // covers every form of topk
      Encoder encoder({.kind = kind, .ratio = ratio}, 1, 0);
      const std::size_t size = encoded_size(encoder.options(), count);
      std::vector<std::byte> room(size + 3);
      const auto bytes = std::span(room).subspan(random.below(4), size);
      encoder.encode(values, bytes);
      std::vector<float> decoded(count, 3);
      ASSERT_TRUE(decode(kind, bytes, decoded));
      std::vector<float> sum = normal_values(random, count);
      std::vector<float> expected = sum;
      for (std::size_t i = 0; i < count; ++i) {
        const float product = weight * decoded[i];
        expected[i] += product;
      }
      ASSERT_TRUE(add_decoded(kind, bytes, weight, sum));
      for (std::size_t i = 0; i < count; ++i) {  // the compiler may have fused the sum of this test
        ASSERT_NEAR(sum[i], expected[i], 1e-6) << static_cast<int>(kind);
      }
    }
  }
}

TEST(Codec, StreamsRoundIndependentlyAndOneStreamIsTheSameAgain) {
  Random random(3);
  const auto values = normal_values(random, 1000);
  Encoder one({.kind = CodecKind::kInt8}, 1, 0);
  Encoder same({.kind = CodecKind::kInt8}, 1, 0);
  Encoder other({.kind = CodecKind::kInt8}, 1, 1);
  const auto first = encoded(one, values);
  EXPECT_EQ(first, encoded(same, values));
  EXPECT_NE(first, encoded(other, values));
  EXPECT_NE(first, encoded(one, values));  // the next call rounds anew
}

TEST(Codec, TheRatioMayChangeBetweenCalls) {
  Random random(4);
  const auto values = normal_values(random, 1000);
  Encoder encoder({.kind = CodecKind::kTopk, .ratio = 0.01, .error_feedback = true}, 1, 0);
  EXPECT_EQ(encoded(encoder, values).size(), 4 + 10 * 8U);
  encoder.set_ratio(0.5);
  const auto bytes = encoded(encoder, values);
  EXPECT_EQ(bytes.size(), 4 + 128 + 500 * 4U);
  std::vector<float> back(values.size());
  EXPECT_TRUE(decode(CodecKind::kTopk, bytes, back));
}

TEST(CodecDeathTest, WrongUseIsOurOwnBug) {
  const std::vector<float> values(10);
  std::vector<std::byte> bytes(19);
  Encoder encoder({.kind = CodecKind::kFp16, .error_feedback = true}, 1, 0);
  EXPECT_DEATH(encoder.encode(values, bytes), "19 bytes for 10 numbers");
  bytes.resize(20);
  encoder.encode(values, bytes);
  EXPECT_DEATH(encoder.encode(std::span(values).first(9), std::span(bytes).first(18)),
               "9 numbers, and 10 before");
  EXPECT_DEATH(encoded_size({.kind = CodecKind::kTopk, .ratio = 0}, 10), "ratio 0");
}

}  // namespace
}  // namespace motley
