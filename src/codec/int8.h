// One byte per number: blocks of 256 numbers with a scale each, rounded at random so that the
// expected decoded value is the input (QSGD: Alistarh et al., NeurIPS 2017, in the variant of its
// experiments, which scales buckets by their largest magnitude).
//
//   scale = largest |x| of the block / 127, at least 2^-126; 0 where all are zero
//   code  = floor(x / scale + u), u uniform in (0, 1)       x arrives as code * scale
//
// The error is less than the scale. u has 15 bits, so the expectation is within 2^-16 scales of x.
// Numbers that are not finite are ignored by the scale and decoded as NaN (code -128).
//
// On the wire: per block the scale as a float, then a byte per number; the last block may be short.
// Cost: each block is read twice, from the L1 cache; 64 random bits per call, the rest by hashing
// the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/machine.h"

namespace motley {

inline constexpr std::size_t kInt8Block = 256;

std::size_t int8_size(std::size_t count);

// Here and below, `bytes` must have int8_size() bytes.
void int8_encode(std::span<const float> values, std::uint64_t seed, std::span<std::byte> bytes,
                 Machine machine = this_machine());

// Fails if a scale is one that int8_encode cannot have written.
Status int8_check(std::span<const std::byte> bytes);
// For bytes that passed int8_check(). Others give meaningless numbers, but are read safely.
void int8_decode(std::span<const std::byte> bytes, std::span<float> values,
                 Machine machine = this_machine());
// sum += weight * decoded numbers.
void int8_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine = this_machine());

}  // namespace motley
