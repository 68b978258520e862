// Numbers whose sum over the processes is exact in any order: small integers, scaled by powers of
// two if the number of processes is one.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace motley::bench {

// The value of process `rank` at place `i`. It differs between places, so that a misplaced segment
// is detected, and between processes, so that one counted twice is detected.
inline float pattern(int rank, std::size_t i) {
  return static_cast<float>((i + i / 1021) % 251) + static_cast<float>(rank * 7);
}

inline void fill_pattern(int rank, std::span<float> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = pattern(rank, i);
  }
}

// The first place where `values` is not the result of `iterations` all-reduces of the pattern, or
// values.size(). The first one sums; each further one multiplies by `size`.
inline std::size_t first_wrong(std::span<const float> values, int size, int iterations) {
  const float growth = std::pow(static_cast<float>(size), static_cast<float>(iterations - 1));
  const float of_ranks = 7.0F * static_cast<float>(size * (size - 1)) / 2.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float sum = static_cast<float>(size) * pattern(0, i) + of_ranks;
    if (values[i] != sum * growth) {
      return i;
    }
  }
  return values.size();
}

}  // namespace motley::bench
