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

}  // namespace motley
