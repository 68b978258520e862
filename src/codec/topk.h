// The k entries of largest magnitude, and where they stand: for gradients most of whose weight is
// in few entries (Aji and Heafield, EMNLP 2017; with error feedback: Stich et al., NeurIPS 2018).
//
// NaN counts as larger than infinity. Of entries of one magnitude the first are taken, so that
// there are exactly k and the same everywhere.
//
// On the wire: k (32 bits), the places, then the k numbers as floats, in the order of their places.
// The places are in the form that takes least, which n and k decide, so that their size is known
// from n and k and who receives can tell the form:
//
//   k == n                      none: every number is there
//   4 k <= 4 * ceil(n / 32)     k integers of 32 bits, ascending
//   else                        a bit for each of n, lowest first, up to a multiple of 32: 1 if
//   kept
//
// Of nothing, nothing.
//
// Cost: four passes, whatever the numbers are. Magnitudes of floats are in the order of their
// bits, so the k-th largest is found 11, then 10, then 10 bits at a time: count how many entries
// have each value of these bits, walk down from the largest until k are counted, look on only in
// the bucket where that was. A last pass writes what is at or above it, 32 entries at a time.
// k == n is a copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/machine.h"

namespace motley {

// ceil(ratio * count), of doubles; at least 1 where there is anything.
std::size_t topk_count(double ratio, std::size_t count);
// Bytes of `kept` among `count`, at most count.
std::size_t topk_size(std::size_t count, std::size_t kept);

// What counting needs: kept between calls, as stacks of fibers are small.
inline constexpr std::size_t kTopkCounts = 2 * 2048;

// `bytes` has topk_size(values.size(), kept), 0 < kept <= values.size() < 2^32.
void topk_encode(std::span<const float> values, std::size_t kept, std::span<std::byte> bytes,
                 std::span<std::uint32_t, kTopkCounts> counts, Machine machine = this_machine());

// Whether the bytes are as long as their k says, and name k places among `count`, ascending. The
// rest is for bytes that were checked, of as many numbers.
Status topk_check(std::span<const std::byte> bytes, std::size_t count);
void topk_decode(std::span<const std::byte> bytes, std::span<float> values);
// sum += weight * the numbers.
void topk_add(std::span<const std::byte> bytes, float weight, std::span<float> sum);
// Zero at the places that the bytes name.
void topk_clear(std::span<const std::byte> bytes, std::span<float> values);

}  // namespace motley
