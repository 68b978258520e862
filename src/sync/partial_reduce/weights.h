// The weight generator: the weight of each member's model in the average of a group.
//
// Constant weights are 1/P. Dynamic weights are smaller for models with fewer iterations, because
// stale models hold a group back (Miao et al., SIGMOD 2021, dynamic partial reduce). We know the
// paper's formula from memory only, so there are two rules:
//   decay  alpha^staleness, normalized: a staler model never gets more. Ours, and the default.
//   ema    our reading of the paper: bias-corrected weights of an exponential moving average over
//          iteration numbers. The weights of iterations that no member holds go to the nearest
//          older member, which may therefore get more than the newest one.
// Both give exactly 1/P when all iterations are equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace motley {

enum class Weighting { kConstant, kDecay, kEma };

// One weight per member, none negative, with sum 1. `alpha` is in (0, 1].
std::vector<double> group_weights(Weighting weighting, double alpha,
                                  std::span<const std::int64_t> iterations);

// The same as floats, because models consist of floats. Rounded weights may sum to more than 1
// (three times a third does), so that every average would make the models a little larger. So the
// largest weight is set to 1 minus the others.
std::vector<float> float_weights(std::span<const double> weights);

}  // namespace motley
