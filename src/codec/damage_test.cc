// Received bytes may be anything: the outcome is an error or numbers, and an error adds nothing.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>

#include "codec/any_values.h"
#include "codec/topk.h"

namespace motley {
namespace {

// Exactly as long as the bytes, so that a sanitizer sees a read past the end.
struct Exact {
  explicit Exact(std::span<const std::byte> bytes)
      : room(new std::byte[bytes.size()]), size(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), room.get());
  }
  std::span<const std::byte> bytes() const { return {room.get(), size}; }

  std::unique_ptr<std::byte[]> room;
  std::size_t size;
};

// Checks that both ways of decoding agree on whether the bytes are valid; returns whether they are.
bool is_read(CodecKind kind, std::span<const std::byte> bytes, std::size_t count) {
  const Exact exact(bytes);
  std::vector<float> values(count);
  const Status read = decode(kind, exact.bytes(), values);
  std::vector<float> sum(count, 1.5F);
  const Status added = add_decoded(kind, exact.bytes(), 0, sum);
  EXPECT_EQ(read.has_value(), added.has_value());
  if (!added) {
    EXPECT_FALSE(added.error().message.empty());
    EXPECT_EQ(sum, std::vector<float>(count, 1.5F)) << "added before the error was found";
  }
  return read.has_value();
}

// Covers every form of topk: places, bits, all.
double topk_ratio(Random& random) {
  constexpr double kRatios[] = {0.01, 0.3, 1};
  return kRatios[random.below(std::size(kRatios))];
}

TEST(Damage, AnotherLengthIsAnError) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::size_t count = 1 + random.below(700);
    const auto values = normal_values(random, count);
    for (const CodecKind kind : kAllCodecs) {
      Encoder encoder({.kind = kind, .ratio = topk_ratio(random)}, 1, 0);
      auto bytes = encoded(encoder, values);
      ASSERT_TRUE(is_read(kind, bytes, count));
      ASSERT_FALSE(is_read(kind, {}, count));
      const auto shorter = std::span(bytes).first(random.below(bytes.size()));
      ASSERT_FALSE(is_read(kind, shorter, count)) << static_cast<int>(kind);
      bytes.resize(bytes.size() + 1 + random.below(7));
      ASSERT_FALSE(is_read(kind, bytes, count)) << static_cast<int>(kind);
    }
  }
}

TEST(Damage, AnyByteIsTooManyForNoNumbers) {
  const std::vector<std::byte> bytes(8);
  for (const CodecKind kind : kAllCodecs) {
    EXPECT_FALSE(is_read(kind, bytes, 0)) << static_cast<int>(kind);
  }
}

// topk gets a count that fits the length; otherwise hardly anything would get past that check.
TEST(Damage, RandomBytesAreAnErrorOrNumbers) {
  Random random(2);
  int refused = 0;
  int topk_read = 0;
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t count = 1 + random.below(round % 2 == 0 ? 8 : 400);
    const auto kept = static_cast<std::uint32_t>(1 + random.below(count));
    for (const CodecKind kind : kAllCodecs) {
      const std::size_t size =
          kind == CodecKind::kTopk ? topk_size(count, kept) : encoded_size({.kind = kind}, count);
      auto bytes = any_bytes(random, size);
      if (kind == CodecKind::kTopk) {
        std::memcpy(bytes.data(), &kept, sizeof kept);
      }
      const bool sound = is_read(kind, bytes, count);
      const bool any_will_do = kind == CodecKind::kTopk ? kept == count : kind != CodecKind::kInt8;
      ASSERT_TRUE(sound || !any_will_do);
      refused += sound ? 0 : 1;
      topk_read += sound && kind == CodecKind::kTopk ? 1 : 0;
    }
  }
  EXPECT_GT(refused, 3'000);
  EXPECT_GT(topk_read, 100);
}

// Flips one bit of valid bytes. int8 numbers stay finite or become NaN (its marker); topk rejects a
// wrong k or bitmap, and places stay in range.
TEST(Damage, OneWrongBit) {
  Random random(3);
  int refused = 0;
  for (int round = 0; round < 3'000; ++round) {
    const std::size_t count = 1 + random.below(400);
    const auto values = normal_values(random, count);
    for (const CodecKind kind : {CodecKind::kInt8, CodecKind::kTopk}) {
      const double ratio = topk_ratio(random);
      Encoder encoder({.kind = kind, .ratio = ratio}, 1, 0);
      auto bytes = encoded(encoder, values);
      const std::size_t at = random.below(bytes.size());
      bytes[at] ^= static_cast<std::byte>(1U << random.below(8));
      const bool sound = is_read(kind, bytes, count);
      if (kind == CodecKind::kTopk) {
        const std::size_t kept = topk_count(ratio, count);
        const bool listed = bytes.size() == 4 + 8 * kept;
        ASSERT_FALSE(sound && at < (listed ? 4 : bytes.size() - 4 * kept)) << at << " " << count;
      }
      refused += sound ? 0 : 1;
      if (kind == CodecKind::kInt8) {
        std::vector<float> back(count);
        if (decode(kind, bytes, back)) {
          for (const float value : back) {
            ASSERT_FALSE(std::isinf(value));
          }
        }
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST(Damage, AnErrorInTheLastBlockAddsNothingToTheFirst) {
  Random random(4);
  const auto values = normal_values(random, 1000);
  Encoder int8({.kind = CodecKind::kInt8}, 1, 0);
  auto bytes = encoded(int8, values);
  const float negative = -1;
  std::memcpy(bytes.data() + 780, &negative, 4);
  std::vector<float> sum(1000);
  EXPECT_FALSE(add_decoded(CodecKind::kInt8, bytes, 1, sum));
  EXPECT_EQ(sum, std::vector<float>(1000));

  Encoder listed({.kind = CodecKind::kTopk, .ratio = 0.01}, 1, 0);
  bytes = encoded(listed, values);
  const std::uint32_t outside = 1000;
  std::memcpy(bytes.data() + 40, &outside, 4);
  EXPECT_FALSE(add_decoded(CodecKind::kTopk, bytes, 1, sum));
  EXPECT_EQ(sum, std::vector<float>(1000));

  Encoder marked({.kind = CodecKind::kTopk, .ratio = 0.1}, 1, 0);
  bytes = encoded(marked, values);
  bytes[4 + 124] ^= std::byte{1};  // in the last 8 places
  EXPECT_FALSE(add_decoded(CodecKind::kTopk, bytes, 1, sum));
  EXPECT_EQ(sum, std::vector<float>(1000));
}

}  // namespace
}  // namespace motley
