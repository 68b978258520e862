// A double as two floats that are summed over workers one by one: a multiple of 4096 and the rest.
//
// So sums of whole numbers stay exact beyond the 2^24 of a float: up to 2^36, and up to 4096
// workers. Other sums are as exact as a float.
#pragma once

#include <array>
#include <cmath>

namespace motley {

inline std::array<float, 2> two_floats(double value) {
  constexpr double kCoarse = 4096;
  const auto coarse = static_cast<float>(kCoarse * std::round(value / kCoarse));
  return {coarse, static_cast<float>(value - static_cast<double>(coarse))};
}

inline double sum_of(float coarse, float fine) {
  return static_cast<double>(coarse) + static_cast<double>(fine);
}

}  // namespace motley
