// The k entries of largest magnitude and their places: for gradients whose weight is mostly in few
// entries (Aji and Heafield, EMNLP 2017; with error feedback: Stich et al., NeurIPS 2018).
//
// NaN counts as larger than infinity. Among entries of equal magnitude the first ones are taken, so
// that there are exactly k and the choice is the same everywhere.
//
// On the wire: k (32 bits), the places, then the k numbers as floats, in the order of their places.
// The places use the smallest form. n and k determine it, so the receiver knows form and size:
//
//   k == n                      none: all numbers are sent
//   4 k <= 4 * ceil(n / 32)     k integers of 32 bits, ascending
//   otherwise                   a bitmap of n bits, lowest first, padded to a multiple of 32
//
// No numbers take no bytes.
//
// Cost: four passes, independent of the data. Magnitudes of floats order like their bits, so the
// k-th largest is found 11, then 10, then 10 bits at a time: count how many entries have each value
// of these bits, walk down from the largest until k are counted, continue only in that bucket. The
// last pass writes the entries at or above it, 32 at a time. k == n is a copy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.h"
#include "codec/machine.h"

namespace motley {

// ceil(ratio * count), computed in double; at least 1 unless count is 0.
std::size_t topk_count(double ratio, std::size_t count);
// Bytes for `kept` of `count` entries; kept <= count.
std::size_t topk_size(std::size_t count, std::size_t kept);

// Scratch space for counting. The caller keeps it between calls, because stacks of fibers are
// small.
inline constexpr std::size_t kTopkCounts = std::size_t{2} * 2048;

// `bytes` must have topk_size(values.size(), kept); 0 < kept <= values.size() < 2^32.
void topk_encode(std::span<const float> values, std::size_t kept, std::span<std::byte> bytes,
                 std::span<std::uint32_t, kTopkCounts> counts, Machine machine = this_machine());

// Checks that the bytes have the length that k requires and name k ascending places among `count`.
// The functions below require bytes that passed this check with the same count.
Status topk_check(std::span<const std::byte> bytes, std::size_t count);
void topk_decode(std::span<const std::byte> bytes, std::span<float> values);
// sum += weight * decoded numbers.
void topk_add(std::span<const std::byte> bytes, float weight, std::span<float> sum);
// Sets the entries at the encoded places to zero.
void topk_clear(std::span<const std::byte> bytes, std::span<float> values);

}  // namespace motley
