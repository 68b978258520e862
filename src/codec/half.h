// Two bytes per number: fp16 (IEEE half: 11 significant bits, up to 65504) and bf16 (the upper half
// of a float: 8 significant bits, the range of a float).
//
// Both round to nearest, ties to even. A finite number stays finite: one that is too large becomes
// the largest with its sign. Infinities and NaN are preserved, so that divergence stays visible.
// Error of a number x:
//
//   fp16   <= 2^-11 |x| for 2^-14 <= |x| <= 65504,   <= 2^-25 below
//   bf16   <= 2^-8 |x|  for 2^-126 <= |x|,           <= 2^-134 below
//
// Cost: one pass; 16 bits read or written per 32. On the wire: the numbers, little-endian.
#pragma once

#include <cstddef>
#include <span>

#include "codec/machine.h"

namespace motley {

// Here and below, `bytes` must have twice as many bytes as there are values.
void fp16_encode(std::span<const float> values, std::span<std::byte> bytes,
                 Machine machine = this_machine());
void fp16_decode(std::span<const std::byte> bytes, std::span<float> values,
                 Machine machine = this_machine());
// sum += weight * decoded numbers.
void fp16_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine = this_machine());

void bf16_encode(std::span<const float> values, std::span<std::byte> bytes,
                 Machine machine = this_machine());
void bf16_decode(std::span<const std::byte> bytes, std::span<float> values,
                 Machine machine = this_machine());
void bf16_add(std::span<const std::byte> bytes, float weight, std::span<float> sum,
              Machine machine = this_machine());

}  // namespace motley
