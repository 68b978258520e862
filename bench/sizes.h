// The messages that the all-reduce benchmarks time, shared by every contender so that a row means
// the same work: from a small model's bias to 25 million parameters.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

namespace motley::bench {

// `rounds` blocks of `iterations` all-reduces per contender. Small messages get many short blocks:
// a block is then over before the machine has changed its mind, and the median has much to choose
// from.
struct Size {
  std::size_t bytes;
  int iterations;
  int rounds;

  std::size_t floats() const { return bytes / sizeof(float); }
};

// Repeated sums over n processes multiply by n; with n = 2 or 4 and so few iterations they stay
// exact floats (see pattern.h), so that every timed block can be checked to the last bit.
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

// --quick: enough rounds to see that all is well, too few to claim anything.
inline constexpr int kQuickRounds = 7;

inline int rounds_of(const Size& size, bool quick) {
  return quick ? std::min(size.rounds, kQuickRounds) : size.rounds;
}

}  // namespace motley::bench
