// How unevenly connections share a link: cluster.unevenness is the standard deviation of the
// logarithm of their weights.
#pragma once

#include <cmath>

#include "base/random.h"

namespace motley {

// The weight of a connection. Its logarithm is nearly normally distributed: a sum of 12 numbers.
inline double uneven_weight(Random& random, double unevenness) {
  constexpr int kNumbers = 12;
  double sum = -kNumbers / 2.0;
  for (int i = 0; i < kNumbers; ++i) {
    sum += random.uniform();
  }
  return std::exp(unevenness * sum);
}

}  // namespace motley
