#include "codec/half.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "codec/float_bits.h"

namespace motley {
namespace {

constexpr std::uint32_t kLargestHalf = 0x477fe000;     // 65504
constexpr std::uint32_t kSmallestNormal = 0x38800000;  // the smallest normal fp16, 2^-14
constexpr std::uint32_t kRebias = 127 - 15;            // difference of the exponent biases
constexpr std::uint32_t kHalfInfinity = 0x7c00;

// Without branches, so that the loops below are vectorised.
MOTLEY_INLINE inline std::uint16_t to_fp16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::uint32_t finite = std::min(magnitude, kLargestHalf);
  const std::uint32_t normal = (finite - (kRebias << 23) + 0xfff + ((finite >> 13) & 1)) >> 13;
  // The last bit of floats around 0.5 is worth 2^-24, like that of a subnormal half: the addition
  // rounds.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(finite) + 0.5F) - 0x3f000000;
  const std::uint32_t nan = kHalfInfinity | 0x200 | ((magnitude >> 13) & 0x3ff);
  const std::uint32_t number = finite < kSmallestNormal ? subnormal : normal;
  const std::uint32_t special = magnitude > kInfinity ? nan : kHalfInfinity;
  return static_cast<std::uint16_t>((magnitude < kInfinity ? number : special) |
                                    ((bits >> 16) & 0x8000));
}

MOTLEY_INLINE inline float from_fp16(std::uint16_t half) {
  const std::uint32_t shifted = (half & 0x7fffU) << 13;
  const std::uint32_t normal = shifted + (kRebias << 23);
  const std::uint32_t infinite = shifted + (2 * kRebias << 23);
  const std::uint32_t special = shifted > (kHalfInfinity << 13) ? infinite | 0x400000 : infinite;
  // Adding one to the exponent supplies the leading bit that a subnormal half lacks.
  const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(
      std::bit_cast<float>(shifted + ((kRebias + 1) << 23)) - 0x1.0p-14F);
  const std::uint32_t number = shifted < (1U << 23) ? subnormal : normal;
  return std::bit_cast<float>((shifted < (kHalfInfinity << 13) ? number : special) |
                              ((half & 0x8000U) << 16));
}

MOTLEY_INLINE inline std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & kMagnitude;
  const std::uint32_t rounded = std::min(magnitude + 0x7fff + ((magnitude >> 16) & 1), 0x7f7fffffU);
  const std::uint32_t special = magnitude > kInfinity ? magnitude | 0x400000 : magnitude;
  return static_cast<std::uint16_t>(
      ((magnitude < kInfinity ? rounded : special) | (bits & ~kMagnitude)) >> 16);
}

MOTLEY_INLINE inline float from_bf16(std::uint16_t upper) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(upper) << 16);
}

MOTLEY_INLINE inline std::uint16_t load(const std::byte* bytes, std::size_t i) {
  std::uint16_t number;
  std::memcpy(&number, bytes + 2 * i, 2);
  return number;
}

template <std::uint16_t (*kTo)(float)>
MOTLEY_INLINE inline void encode_each(const float* __restrict from, std::byte* __restrict to,
                                      std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) {
    const std::uint16_t number = kTo(from[i]);
    std::memcpy(to + 2 * i, &number, 2);
  }
}

template <float (*kFrom)(std::uint16_t)>
MOTLEY_INLINE inline void decode_each(const std::byte* __restrict from, float* __restrict to,
                                      std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) {
    to[i] = kFrom(load(from, i));
  }
}

template <float (*kFrom)(std::uint16_t)>
MOTLEY_INLINE inline void add_each(const std::byte* __restrict from, float weight,
                                   float* __restrict to, std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) {
    to[i] += weight * kFrom(load(from, i));
  }
}

#if defined(__x86_64__)

MOTLEY_AVX2 __m256 load_fp16(const std::byte* from, std::size_t i) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 2 * i)));
}

// These process groups of eight and return how many numbers they processed.
MOTLEY_AVX2 std::size_t fp16_encode_eights(const float* from, std::byte* to, std::size_t count) {
  const __m256 largest = _mm256_castsi256_ps(_mm256_set1_epi32(kLargestHalf));
  const __m256 sign = _mm256_set1_ps(-0.0F);
  const __m256 infinity = _mm256_castsi256_ps(_mm256_set1_epi32(kInfinity));
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 value = _mm256_loadu_ps(from + i);
    const __m256 magnitude = _mm256_andnot_ps(sign, value);
    // If one operand is NaN, the result is the second operand.
    const __m256 least = _mm256_min_ps(largest, magnitude);
    const __m256 kept =
        _mm256_blendv_ps(least, magnitude, _mm256_cmp_ps(magnitude, infinity, _CMP_EQ_OQ));
    const __m256 with_sign = _mm256_or_ps(kept, _mm256_and_ps(sign, value));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 2 * i),
                     _mm256_cvtps_ph(with_sign, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}

MOTLEY_AVX2 std::size_t fp16_decode_eights(const std::byte* from, float* to, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(to + i, load_fp16(from, i));
  }
  return i;
}

MOTLEY_AVX2 std::size_t fp16_add_eights(const std::byte* from, float weight, float* to,
                                        std::size_t count) {
  const __m256 weights = _mm256_set1_ps(weight);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m256 product = _mm256_mul_ps(weights, load_fp16(from, i));
    _mm256_storeu_ps(to + i, _mm256_add_ps(_mm256_loadu_ps(to + i), product));
  }
  return i;
}

#else

std::size_t fp16_encode_eights(const float*, std::byte*, std::size_t) { return 0; }
std::size_t fp16_decode_eights(const std::byte*, float*, std::size_t) { return 0; }
std::size_t fp16_add_eights(const std::byte*, float, float*, std::size_t) { return 0; }

#endif

}  // namespace

void fp16_encode(std::span<const float> values, std::span<std::byte> bytes, Machine machine) {
  const std::size_t done = machine == Machine::kAvx2
                               ? fp16_encode_eights(values.data(), bytes.data(), values.size())
                               : 0;
  encode_each<to_fp16>(values.data(), bytes.data(), done, values.size());
}

void fp16_decode(std::span<const std::byte> bytes, std::span<float> values, Machine machine) {
  const std::size_t done = machine == Machine::kAvx2
                               ? fp16_decode_eights(bytes.data(), values.data(), values.size())
                               : 0;
  decode_each<from_fp16>(bytes.data(), values.data(), done, values.size());
}

void fp16_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine) {
  const std::size_t done =
      machine == Machine::kAvx2 ? fp16_add_eights(bytes.data(), weight, sum.data(), sum.size()) : 0;
  add_each<from_fp16>(bytes.data(), weight, sum.data(), done, sum.size());
}

void bf16_encode(std::span<const float> values, std::span<std::byte> bytes, Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE {
    encode_each<to_bf16>(values.data(), bytes.data(), 0, values.size());
  });
}

void bf16_decode(std::span<const std::byte> bytes, std::span<float> values, Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE {
    decode_each<from_bf16>(bytes.data(), values.data(), 0, values.size());
  });
}

void bf16_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE {
    add_each<from_bf16>(bytes.data(), weight, sum.data(), 0, sum.size());
  });
}

}  // namespace motley
