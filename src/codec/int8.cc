#include "codec/int8.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "codec/float_bits.h"

namespace motley {
namespace {

constexpr std::size_t kScaleBytes = sizeof(float);
constexpr std::size_t kBlockBytes = kScaleBytes + kInt8Block;
constexpr std::int32_t kLargestCode = 127;
constexpr std::uint32_t kNotFinite = 0x80;  // the code -128
// 127 times the next larger float would be infinite.
constexpr float kLargestScale = 0x1.020406p+121F;
static_assert(kLargestScale * 127.0 <= std::numeric_limits<float>::max());

using Block = std::array<float, kInt8Block>;

// The key of a block: splitmix64, as base/random.h uses it for seeds.
MOTLEY_INLINE inline std::uint64_t block_key(std::uint64_t seed, std::uint64_t block) {
  std::uint64_t z = seed + (block + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// Random numbers in (0, 1): odd multiples of 2^-16. Added to a quotient of up to 128 they are exact
// where it matters, and far enough from 0 and 1 that rounding cannot cause an error of a whole
// scale. A 32-bit hash of the place (the MurmurHash3 finaliser) gives two of them.
MOTLEY_INLINE inline void fill_random(std::uint64_t key, Block& random) {
  const auto low = static_cast<std::uint32_t>(key);
  const auto high = static_cast<std::uint32_t>(key >> 32);
  for (std::uint32_t i = 0; i < kInt8Block / 2; ++i) {
    std::uint32_t h = low + i * 0x9e3779b9U;
    h = (h ^ (h >> 16)) * 0x85ebca6bU + high;
    h = (h ^ (h >> 13)) * 0xc2b2ae35U;
    h ^= h >> 16;
    random[i] = static_cast<float>(static_cast<std::int32_t>((h & 0xffff) | 1)) * 0x1.0p-16F;
    random[i + kInt8Block / 2] =
        static_cast<float>(static_cast<std::int32_t>((h >> 16) | 1)) * 0x1.0p-16F;
  }
}

// The largest magnitude of the finite numbers. Magnitudes of floats order like their bits, and the
// compiler may reorder integer operations.
MOTLEY_INLINE inline float largest_magnitude(const float* __restrict values) {
  std::int32_t largest = 0;
  for (std::size_t i = 0; i < kInt8Block; ++i) {
    const auto magnitude =
        static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(values[i]) & kMagnitude);
    largest = std::max(largest, magnitude < static_cast<std::int32_t>(kInfinity) ? magnitude : 0);
  }
  return std::bit_cast<float>(largest);
}

// Encodes a whole block: the scale and all codes.
MOTLEY_INLINE inline void encode_block(const float* __restrict values, std::uint64_t key,
                                       std::byte* __restrict to) {
  Block random;
  fill_random(key, random);
  const float largest = largest_magnitude(values);
  const float scale =
      largest == 0 ? 0 : std::clamp(largest / kLargestCode, 0x1.0p-126F, kLargestScale);
  std::memcpy(to, &scale, kScaleBytes);
  const float divisor = largest == 0 ? 1 : scale;
  // Masks instead of conditions: the compiler would branch and not vectorise.
  for (std::size_t i = 0; i < kInt8Block; ++i) {
    const auto bits = std::bit_cast<std::uint32_t>(values[i]);
    const std::uint32_t finite = (bits & kMagnitude) < kInfinity ? ~0U : 0;
    const float place = std::bit_cast<float>(bits & finite) / divisor + random[i];  // never -0
    const auto towards_zero = static_cast<std::int32_t>(place);
    const float above = place - static_cast<float>(towards_zero);
    const std::int32_t below = towards_zero + (std::bit_cast<std::int32_t>(above) >> 31);
    const std::int32_t code = std::min(std::max(below, -kLargestCode), kLargestCode);
    to[kScaleBytes + i] = static_cast<std::byte>((static_cast<std::uint32_t>(code) & finite) |
                                                 (kNotFinite & ~finite));
  }
}

MOTLEY_INLINE inline void encode_all(std::span<const float> values, std::uint64_t seed,
                                     std::byte* to) {
  const std::size_t whole = values.size() / kInt8Block;
  for (std::size_t block = 0; block < whole; ++block) {
    encode_block(values.data() + block * kInt8Block, block_key(seed, block),
                 to + block * kBlockBytes);
  }
  const auto rest = values.subspan(whole * kInt8Block);
  if (!rest.empty()) {
    Block padded{};
    std::copy(rest.begin(), rest.end(), padded.begin());
    std::array<std::byte, kBlockBytes> encoded;
    encode_block(padded.data(), block_key(seed, whole), encoded.data());
    std::memcpy(to + whole * kBlockBytes, encoded.data(), kScaleBytes + rest.size());
  }
}

MOTLEY_INLINE inline float number(std::byte raw, float scale) {
  const float product = scale * static_cast<float>(static_cast<std::int8_t>(raw));
  const std::uint32_t nan = raw == static_cast<std::byte>(kNotFinite) ? 0x7fc00000 : 0;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(product) | nan);
}

MOTLEY_INLINE inline float scale_at(const std::byte* from) {
  float scale;
  std::memcpy(&scale, from, kScaleBytes);
  return scale;
}

// Calls body(codes, scale, values, count) for every block; for whole blocks count is a constant.
template <class Body>
MOTLEY_INLINE inline void for_each_block(std::span<const std::byte> bytes, std::span<float> values,
                                         Body body) {
  const std::byte* from = bytes.data();
  float* to = values.data();
  std::size_t left = values.size();
  for (; left >= kInt8Block; left -= kInt8Block) {
    body(from + kScaleBytes, scale_at(from), to, kInt8Block);
    from += kBlockBytes;
    to += kInt8Block;
  }
  if (left > 0) {
    body(from + kScaleBytes, scale_at(from), to, left);
  }
}

}  // namespace

std::size_t int8_size(std::size_t count) {
  return count + (count + kInt8Block - 1) / kInt8Block * kScaleBytes;
}

void int8_encode(std::span<const float> values, std::uint64_t seed, std::span<std::byte> bytes,
                 Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE { encode_all(values, seed, bytes.data()); });
}

Status int8_check(std::span<const std::byte> bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += kBlockBytes) {
    const float scale = scale_at(bytes.data() + at);
    // Written so that NaN fails.
    if (!(scale >= 0 && scale <= kLargestScale)) {
      return fail("int8: block {} has the invalid scale {}", at / kBlockBytes, scale);
    }
  }
  return {};
}

void int8_decode(std::span<const std::byte> bytes, std::span<float> values, Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE {
    for_each_block(bytes, values,
                   [](const std::byte* __restrict from, float scale, float* __restrict to,
                      std::size_t count) MOTLEY_INLINE {
                     for (std::size_t i = 0; i < count; ++i) {
                       to[i] = number(from[i], scale);
                     }
                   });
  });
}

void int8_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine) {
  on_machine(machine, [=]() MOTLEY_INLINE {
    for_each_block(bytes, sum,
                   [weight](const std::byte* __restrict from, float scale, float* __restrict to,
                            std::size_t count) MOTLEY_INLINE {
                     for (std::size_t i = 0; i < count; ++i) {
                       to[i] += weight * number(from[i], scale);
                     }
                   });
  });
}

}  // namespace motley
