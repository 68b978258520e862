// Error feedback: what was not sent is kept and sent later.
#include <gtest/gtest.h>

#include <array>

#include "codec/any_values.h"
#include "codec/topk.h"

namespace motley {
namespace {

constexpr CodecKind kLossy[] = {CodecKind::kFp16, CodecKind::kBf16, CodecKind::kInt8,
                                CodecKind::kTopk};

std::vector<float> decoded(CodecKind kind, std::span<const std::byte> bytes, std::size_t count) {
  std::vector<float> values(count);
  EXPECT_TRUE(decode(kind, bytes, values));
  return values;
}

TEST(Feedback, TopkSendsOrKeepsEveryEntryToTheBit) {
  Random random(1);
  for (int round = 0; round < 100; ++round) {
    const std::size_t count = 1 + random.below(500);
    // Covers the forms places, bits and all.
    const double ratio = std::array{0.02, 0.3, 1.0}[static_cast<std::size_t>(round % 3)];
    Encoder encoder({.kind = CodecKind::kTopk, .ratio = ratio, .error_feedback = true}, 1, 0);
    std::vector<float> before(count);
    for (int call = 0; call < 20; ++call) {
      const auto values = normal_values(random, count);
      const auto sent = decoded(CodecKind::kTopk, encoded(encoder, values), count);
      const auto residual = encoder.residual();
      std::size_t moved = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const float whole = values[i] + before[i];
        ASSERT_TRUE((sent[i] == whole && residual[i] == 0) ||
                    (sent[i] == 0 && residual[i] == whole))
            << sent[i] << " and " << residual[i] << " of " << whole;
        moved += sent[i] != 0 ? 1 : 0;
      }
      ASSERT_EQ(moved, topk_count(ratio, count));
      before.assign(residual.begin(), residual.end());
    }
  }
}

// The inputs are multiples of a power of two, which float sums exactly, so nothing may be missing
// after any number of calls.
TEST(Feedback, TopkSentPlusResidualIsExactlyTheSumOfInputs) {
  constexpr std::size_t kCount = 1000;
  Random random(2);
  Encoder encoder({.kind = CodecKind::kTopk, .ratio = 0.01, .error_feedback = true}, 1, 0);
  std::vector<double> inputs(kCount);
  std::vector<double> outputs(kCount);
  std::vector<int> travelled(kCount);
  for (int call = 0; call < 2000; ++call) {
    std::vector<float> values(kCount);
    for (float& value : values) {
      value = static_cast<float>(random.below(201)) / 64 - 100.0F / 64;
    }
    const auto sent = decoded(CodecKind::kTopk, encoded(encoder, values), kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      inputs[i] += values[i];
      outputs[i] += sent[i];
      travelled[i] += sent[i] != 0 ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(outputs[i] + encoder.residual()[i], inputs[i]);
    ASSERT_GT(travelled[i], 0);
  }
}

TEST(Feedback, WhatIsKeptIsWhatWasLost) {
  Random random(3);
  for (const CodecKind kind : kLossy) {
    Encoder encoder({.kind = kind, .ratio = 0.1, .error_feedback = true}, 1, 0);
    EXPECT_TRUE(encoder.residual().empty());
    std::vector<float> before(1000);
    for (int call = 0; call < 50; ++call) {
      const auto values = normal_values(random, before.size());
      const auto sent = decoded(kind, encoded(encoder, values), before.size());
      for (std::size_t i = 0; i < before.size(); ++i) {
        const float whole = values[i] + before[i];
        ASSERT_NEAR(sent[i] + encoder.residual()[i], whole, 1e-6) << static_cast<int>(kind);
      }
      before.assign(encoder.residual().begin(), encoder.residual().end());
    }
  }
}

// The mean of what is sent approaches the mean of the inputs as 1 / calls, and the residual stays
// bounded. Without feedback the constant rounding error remains; the test asserts that too, so that
// it is known to detect it.
TEST(Feedback, InTheLongRunAllOfItArrives) {
  constexpr std::size_t kCount = 512;
  constexpr int kCalls = 2000;
  Random random(4);
  const auto values = normal_values(random, kCount);
  const auto largest_error = [&](CodecKind kind, bool feedback) {
    Encoder encoder({.kind = kind, .ratio = 0.02, .error_feedback = feedback}, 1, 0);
    std::vector<double> sums(kCount);
    for (int call = 0; call < kCalls; ++call) {
      const auto sent = decoded(kind, encoded(encoder, values), kCount);
      for (std::size_t i = 0; i < kCount; ++i) {
        sums[i] += sent[i];
      }
    }
    double largest = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      largest = std::max(largest, std::abs(sums[i] / kCalls - values[i]));
    }
    return largest;
  };
  // Half of the last bit of numbers up to 4; a scale; 50 to 100 calls until an entry is sent.
  EXPECT_LT(largest_error(CodecKind::kFp16, true), 0x1.0p-10 / kCalls * 2);
  EXPECT_GT(largest_error(CodecKind::kFp16, false), 0x1.0p-12);
  EXPECT_LT(largest_error(CodecKind::kBf16, true), 0x1.0p-7 / kCalls * 2);
  EXPECT_GT(largest_error(CodecKind::kBf16, false), 0x1.0p-9);
  EXPECT_LT(largest_error(CodecKind::kInt8, true), 4.0 / 127 / kCalls * 2);
  EXPECT_LT(largest_error(CodecKind::kTopk, true), 0.25);
  EXPECT_GT(largest_error(CodecKind::kTopk, false), 1);
}

// A number too large for fp16 is sent in parts. A number that is not finite is sent once and
// forgotten.
TEST(Feedback, OverflowIsMadeUpForAndNotFiniteIsForgotten) {
  using Limits = std::numeric_limits<float>;
  Encoder half({.kind = CodecKind::kFp16, .error_feedback = true}, 1, 0);
  double sum = decoded(CodecKind::kFp16, encoded(half, std::vector<float>{150'000}), 1)[0];
  EXPECT_EQ(sum, 65504);
  for (int call = 0; call < 3; ++call) {
    sum += decoded(CodecKind::kFp16, encoded(half, std::vector<float>{0}), 1)[0];
  }
  EXPECT_EQ(sum, 150'000);

  for (const CodecKind kind : kLossy) {
    Encoder encoder({.kind = kind, .ratio = 1, .error_feedback = true}, 1, 0);
    const std::vector<float> bad{Limits::quiet_NaN(), 1, Limits::infinity()};
    const auto first = decoded(kind, encoded(encoder, bad), 3);
    EXPECT_TRUE(std::isnan(first[0]) && !std::isfinite(first[2])) << static_cast<int>(kind);
    const auto second = decoded(kind, encoded(encoder, std::vector<float>(3)), 3);
    for (const float value : second) {
      EXPECT_TRUE(std::isfinite(value)) << static_cast<int>(kind);
    }
  }
}

}  // namespace
}  // namespace motley
