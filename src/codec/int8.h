// One byte a number: blocks of 256 numbers, each with a scale of its own, rounded at random so that
// the expectation of what arrives is what was sent (QSGD: Alistarh et al., NeurIPS 2017, in the
// variant of its experiments, which scales buckets by their largest magnitude).
//
//   scale = largest |x| of the block / 127, at least 2^-126; 0 where all are zero
//   code  = floor(x / scale + u), u uniform in (0, 1)       x arrives as code * scale
//
// The error is less than the scale. u has 15 bits, so the expectation is within 2^-16 scales of x.
// Numbers that are not finite take no part in the scale and arrive as NaN (the code -128).
//
// On the wire: per block the scale as a float, then a byte for each number; the last block may be
// short. Cost: the block is read twice, from the first cache; 64 bits of random numbers a call, the
// rest by a hash of the place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/machine.h"

namespace motley {

inline constexpr std::size_t kInt8Block = 256;

std::size_t int8_size(std::size_t count);

// `bytes` has int8_size(), here and below.
void int8_encode(std::span<const float> values, std::uint64_t seed, std::span<std::byte> bytes,
                 Machine machine = this_machine());

// Whether every scale is one that int8_encode could have written.
Status int8_check(std::span<const std::byte> bytes);
// Of bytes that were checked. Others are read as well, to numbers that mean nothing.
void int8_decode(std::span<const std::byte> bytes, std::span<float> values,
                 Machine machine = this_machine());
// sum += weight * the numbers.
void int8_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine = this_machine());

}  // namespace motley
