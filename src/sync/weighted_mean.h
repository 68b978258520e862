// The weighted mean of several models in one pass over memory.
#pragma once

#include <span>

#include "motley/sync/replica.h"

namespace motley {

struct WeightedModel {
  std::span<const float> values;
  float weight = 1;
};

// `own` becomes (own_weight * own + sum of weight * values) / (sum of all weights). It is divided
// by that sum, not multiplied by a rounded reciprocal: a third is not a float, and models would
// grow with every mean of three.
//
// Cost: each model is read once and `own` written once, whatever their number.
void weighted_mean(Block own, float own_weight, std::span<const WeightedModel> others);

// The bytes that the mean of `floats` numbers with those of `others` models reads and writes.
constexpr std::size_t mean_traffic(std::size_t floats, std::size_t others) {
  return others > 0 ? (others + 2) * floats * sizeof(float) : 0;
}

}  // namespace motley
