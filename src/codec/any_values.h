// For tests: numbers of every kind, and how codecs round them.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/random.h"
#include "codec/codec.h"

namespace motley {

inline constexpr CodecKind kAllCodecs[] = {CodecKind::kNone, CodecKind::kFp16, CodecKind::kBf16,
                                           CodecKind::kInt8, CodecKind::kTopk};

inline std::vector<float> normal_values(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(random.normal());
  }
  return values;
}

// Random bits; or values with so few bits that many lie half-way between two fp16 or bf16 numbers;
// or values at an edge.
inline std::vector<float> any_values(Random& random, std::size_t count) {
  using Limits = std::numeric_limits<float>;
  constexpr float kEdges[] = {0.0F,
                              -0.0F,
                              Limits::infinity(),
                              -Limits::infinity(),
                              Limits::quiet_NaN(),
                              Limits::signaling_NaN(),
                              Limits::max(),
                              Limits::lowest(),
                              Limits::min(),
                              Limits::denorm_min(),
                              65504.0F,
                              65520.0F,
                              0x1.0p-14F,
                              0x1.0p-24F,
                              0x1.0p-25F,
                              1.0F};
  std::vector<float> values(count);
  for (float& value : values) {
    const std::uint64_t bits = random.next();
    constexpr std::uint32_t kMasks[] = {0, ~0U << 12, ~0U << 15, ~0U};
    value = bits >> 62 == 0
                ? kEdges[bits % std::size(kEdges)]
                : std::bit_cast<float>(static_cast<std::uint32_t>(bits) & kMasks[bits >> 62]);
  }
  return values;
}

inline std::vector<std::byte> any_bytes(Random& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random.next() >> 56);
  }
  return bytes;
}

inline std::vector<std::byte> encoded(Encoder& encoder, std::span<const float> values) {
  std::vector<std::byte> bytes(encoded_size(encoder.options(), values.size()));
  encoder.encode(values, bytes);
  return bytes;
}

// As bits, so that different NaNs compare as different.
inline std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) {
    bits.push_back(std::bit_cast<std::uint32_t>(value));
  }
  return bits;
}

}  // namespace motley
