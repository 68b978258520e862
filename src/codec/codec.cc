#include "codec/codec.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "codec/half.h"
#include "codec/int8.h"
#include "codec/topk.h"

namespace motley {
namespace {

bool is_lossy(CodecKind kind) { return kind != CodecKind::kNone; }

// For all codecs but topk, where the sender decides the size.
std::size_t fixed_size(CodecKind kind, std::size_t count) {
  switch (kind) {
    case CodecKind::kFp16:
    case CodecKind::kBf16:
      return 2 * count;
    case CodecKind::kInt8:
      return int8_size(count);
    default:
      return sizeof(float) * count;
  }
}

std::string_view name_of(CodecKind kind) {
  switch (kind) {
    case CodecKind::kFp16:
      return "fp16";
    case CodecKind::kBf16:
      return "bf16";
    case CodecKind::kInt8:
      return "int8";
    case CodecKind::kTopk:
      return "topk";
    default:
      return "none";
  }
}

// Bytes that pass this check can be read safely.
Status check_bytes(CodecKind kind, std::span<const std::byte> bytes, std::size_t count) {
  if (kind == CodecKind::kTopk) {
    return topk_check(bytes, count);
  }
  if (const std::size_t size = fixed_size(kind, count); bytes.size() != size) {
    return fail("{}: {} bytes for {} numbers, not {}", name_of(kind), bytes.size(), count, size);
  }
  return kind == CodecKind::kInt8 ? int8_check(bytes) : Status();
}

void add_floats(std::span<const std::byte> bytes, float weight, std::span<float> sum) {
  const std::byte* __restrict from = bytes.data();
  float* __restrict to = sum.data();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    float number;
    std::memcpy(&number, from + i * sizeof number, sizeof number);
    to[i] += weight * number;
  }
}

void add_checked(CodecKind kind, std::span<const std::byte> bytes, float weight,
                 std::span<float> sum) {
  switch (kind) {
    case CodecKind::kNone:
      return add_floats(bytes, weight, sum);
    case CodecKind::kFp16:
      return fp16_add(bytes, weight, sum);
    case CodecKind::kBf16:
      return bf16_add(bytes, weight, sum);
    case CodecKind::kInt8:
      return int8_add(bytes, weight, sum);
    case CodecKind::kTopk:
      return topk_add(bytes, weight, sum);
  }
}

void decode_checked(CodecKind kind, std::span<const std::byte> bytes, std::span<float> values) {
  switch (kind) {
    case CodecKind::kNone:
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return;
    case CodecKind::kFp16:
      return fp16_decode(bytes, values);
    case CodecKind::kBf16:
      return bf16_decode(bytes, values);
    case CodecKind::kInt8:
      return int8_decode(bytes, values);
    case CodecKind::kTopk:
      return topk_decode(bytes, values);
  }
}

void add(std::span<const float> values, std::span<const float> more, std::span<float> sum) {
  const float* __restrict from = values.data();
  const float* __restrict and_from = more.data();
  float* __restrict to = sum.data();
  for (std::size_t i = 0; i < sum.size(); ++i) {
    to[i] = and_from[i] + from[i];
  }
}

// What is held back of a number that was sent exactly. Unlike a positive zero it changes no number
// that it is added to, not even the sign of a zero.
constexpr float kNothing = -0.0F;

// A number that overflowed has no remainder; without this it would be added to every later message.
void forget_not_finite(std::span<float> values) {
  for (float& value : values) {
    const bool finite = (std::bit_cast<std::uint32_t>(value) & 0x7f800000) != 0x7f800000;
    value = finite && value != 0 ? value : kNothing;
  }
}

}  // namespace

std::size_t encoded_size(const CodecOptions& options, std::size_t count) {
  return options.kind == CodecKind::kTopk ? topk_size(count, topk_count(options.ratio, count))
                                          : fixed_size(options.kind, count);
}

Encoder::Encoder(const CodecOptions& options, std::uint64_t seed, std::uint64_t stream)
    : options_(options), random_(seed, stream) {}

void Encoder::state(Archive& archive) {
  if (options_.error_feedback) {
    archive.tensor("residual", residual_);
    if (archive.is_saving() && may_take_back_) {
      archive.tensor("before", before_);
    }
  }
}

void Encoder::take_back() {
  if (may_take_back_) {
    residual_.swap(before_);
    may_take_back_ = false;
  }
}

void Encoder::encode(std::span<const float> values, std::span<std::byte> bytes) {
  const std::size_t size = encoded_size(options_, values.size());
  MOTLEY_CHECK(bytes.size() == size, "{} bytes for {} numbers, not {}", bytes.size(), values.size(),
               size);
  if (values.empty()) {
    return;
  }
  if (!options_.error_feedback || !is_lossy(options_.kind)) {
    encode_once(values, bytes);
    return;
  }
  if (residual_.empty()) {
    residual_.resize(values.size(), kNothing);
  }
  MOTLEY_CHECK(residual_.size() == values.size(), "{} numbers, and {} before", values.size(),
               residual_.size());
  residual_.swap(before_);
  residual_.resize(values.size());
  add(values, before_, residual_);
  may_take_back_ = true;
  encode_once(residual_, bytes);
  if (options_.kind == CodecKind::kTopk) {
    topk_clear(bytes, residual_);  // each entry is sent or kept, to the bit
  } else {
    add_checked(options_.kind, bytes, -1, residual_);
    forget_not_finite(residual_);
  }
}

void Encoder::encode_once(std::span<const float> values, std::span<std::byte> bytes) {
  switch (options_.kind) {
    case CodecKind::kNone:
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return;
    case CodecKind::kFp16:
      return fp16_encode(values, bytes);
    case CodecKind::kBf16:
      return bf16_encode(values, bytes);
    case CodecKind::kInt8:
      return int8_encode(values, random_.next(), bytes);
    case CodecKind::kTopk:
      counts_.resize(kTopkCounts);
      return topk_encode(values, topk_count(options_.ratio, values.size()), bytes,
                         std::span<std::uint32_t, kTopkCounts>(counts_));
  }
}

Status decode(CodecKind kind, std::span<const std::byte> bytes, std::span<float> values) {
  const Status sound = check_bytes(kind, bytes, values.size());
  if (sound && !values.empty()) {
    decode_checked(kind, bytes, values);
  }
  return sound;
}

Status add_decoded(CodecKind kind, std::span<const std::byte> bytes, float weight,
                   std::span<float> sum) {
  const Status sound = check_bytes(kind, bytes, sum.size());
  if (sound && !sum.empty()) {
    add_checked(kind, bytes, weight, sum);
  }
  return sound;
}

}  // namespace motley
