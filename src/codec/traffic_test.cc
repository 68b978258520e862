#include "codec/traffic.h"

#include <gtest/gtest.h>

#include "codec/any_values.h"

namespace motley {
namespace {

constexpr std::size_t kCount = 1000;

TEST(Traffic, FloatsAreCopiedAndAdded) {
  EXPECT_EQ(copy_traffic(kCount), 8000U);
  EXPECT_EQ(add_traffic(kCount), 12'000U);
  EXPECT_EQ(encode_traffic({}, kCount), 8000U);
  EXPECT_EQ(decode_traffic(CodecKind::kNone, kCount, 4000), 8000U);
  EXPECT_EQ(add_decoded_traffic(CodecKind::kNone, kCount, 4000), 12'000U);
}

TEST(Traffic, NothingCostsNothing) {
  for (const CodecKind kind : kAllCodecs) {
    EXPECT_EQ(encode_traffic({.kind = kind, .error_feedback = true}, 0), 0U);
    EXPECT_EQ(decode_traffic(kind, 0, 0), 0U);
    EXPECT_EQ(add_decoded_traffic(kind, 0, 0), 0U);
  }
}

TEST(Traffic, TopkDependsOnWhatItSends) {
  const CodecOptions few{.kind = CodecKind::kTopk, .ratio = 0.01};
  const CodecOptions many{.kind = CodecKind::kTopk, .ratio = 0.5};
  EXPECT_EQ(encode_traffic(few, kCount), 28 * kCount + 9 * encoded_size(few, kCount));
  EXPECT_GT(encode_traffic(many, kCount), encode_traffic(few, kCount));
  EXPECT_EQ(add_decoded_traffic(CodecKind::kTopk, kCount, 84), 2 * kCount + 5 * std::size_t{84});
  EXPECT_EQ(decode_traffic(CodecKind::kTopk, kCount, 84), 4 * kCount + 5 * std::size_t{84});
}

TEST(Traffic, TopkThatKeepsAllIsACopy) {
  const CodecOptions all{.kind = CodecKind::kTopk, .ratio = 1};
  EXPECT_EQ(encode_traffic(all, kCount), copy_traffic(kCount));
  EXPECT_EQ(decode_traffic(CodecKind::kTopk, kCount, encoded_size(all, kCount)),
            copy_traffic(kCount));
  EXPECT_EQ(add_decoded_traffic(CodecKind::kTopk, kCount, encoded_size(all, kCount)),
            add_traffic(kCount));
}

TEST(Traffic, ErrorFeedbackCostsMore) {
  for (const CodecKind kind : kAllCodecs) {
    const std::size_t more = kind == CodecKind::kNone ? 0 : 20 * kCount;
    EXPECT_EQ(encode_traffic({.kind = kind, .error_feedback = true}, kCount),
              encode_traffic({.kind = kind}, kCount) + more);
  }
}

}  // namespace
}  // namespace motley
