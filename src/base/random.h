// Random: a seeded generator with its own distributions. Those of <random> differ between standard
// libraries; a seed must give the same numbers everywhere.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace motley {

// The finaliser of splitmix64: a bijection of 64 bits in which every bit of the result depends on
// every bit of `z`.
constexpr std::uint64_t mix64(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// xoshiro256** (Blackman and Vigna), seeded through splitmix64.
class Random {
 public:
  // Streams of one seed are independent. Use one per worker, per epoch, per purpose.
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0);

  std::uint64_t next();
  // Uniform in [0, 1), 53 random bits.
  double uniform();
  // Uniform in [0, bound), without bias. bound > 0.
  std::uint64_t below(std::uint64_t bound);
  // Normal with mean 0 and standard deviation 1.
  double normal();

  template <class T>
  void shuffle(std::span<T> items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[below(i)]);
    }
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace motley
