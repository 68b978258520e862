// The message sizes of the all-reduce benchmarks, shared by all contenders so that a row means the
// same work: from a small model's bias to 25 million parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace motley::bench {

// `rounds` blocks of `iterations` all-reduces per contender. Small messages get many short blocks,
// so that a disturbance affects few of them and the median is reliable.
struct Size {
  std::size_t bytes;
  int iterations;
  int rounds;

  std::size_t floats() const { return bytes / sizeof(float); }
};

// Repeated sums over n processes multiply by n. With n = 2 or 4 and few iterations they stay exact
// floats (see pattern.h), so every timed block can be checked to the last bit.
inline constexpr int kMaxIterations = 50;

inline constexpr std::array<Size, 8> kSizes = {{
    {4'096, 50, 61},
    {16'384, 50, 61},
    {65'536, 50, 41},
    {262'144, 20, 41},
    {1'600'000, 10, 31},
    {6'400'000, 4, 21},
    {25'000'000, 2, 15},
    {100'000'000, 1, 11},
}};

// --quick: enough rounds to check that everything works, too few to claim anything.
inline constexpr int kQuickRounds = 7;

inline int rounds_of(const Size& size, bool quick) {
  return quick ? std::min(size.rounds, kQuickRounds) : size.rounds;
}

}  // namespace motley::bench
