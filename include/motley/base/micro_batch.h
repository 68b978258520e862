// How a worker computes a share that is larger than its memory allows: in parts of at most
// `micro_batch` samples, one after the other. Gradients are sums over samples, so those of the
// parts add up to that of the share.
//
// There are as few parts as possible, and they are as equal as integers allow: a share of 65 with
// micro-batches of 64 is computed as 33 and 32 samples, because BatchNorm cannot train on one.
#pragma once

#include <cstddef>
#include <limits>
#include <span>

namespace motley {

// No bound: a share is computed at once.
inline constexpr std::size_t kWholeShare = std::numeric_limits<std::size_t>::max();

// The number of parts of a step. A step without samples counts as one part.
constexpr std::size_t part_count(std::size_t samples, std::size_t micro_batch) {
  return samples == 0 ? 1 : 1 + (samples - 1) / micro_batch;
}

// Removes the first of `parts` parts from the front of `rest` and returns it.
template <class Sample>
std::span<Sample> first_of_parts(std::span<Sample>& rest, std::size_t parts) {
  const std::span<Sample> part = rest.first(rest.size() / parts + (rest.size() % parts ? 1 : 0));
  rest = rest.subspan(part.size());
  return part;
}

// Removes the next part from the front of `rest` and returns it.
template <class Sample>
std::span<Sample> next_part(std::span<Sample>& rest, std::size_t micro_batch) {
  return first_of_parts(rest, part_count(rest.size(), micro_batch));
}

}  // namespace motley
