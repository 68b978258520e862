// The weight generator: how much each member's model counts in the average of a group.
//
// Constant weights are 1/P. Dynamic ones count a model less the fewer iterations are behind it, as
// stale ones hold a group back (Miao et al., SIGMOD 2021, dynamic partial reduce). The paper's
// formula is known to us from recollection only, hence two rules:
//   decay  alpha^staleness, normalised: never more for a staler model. Ours, and the default.
//   ema    our reading of the paper: bias-corrected weights of an exponential moving average over
//          iteration numbers; those of iterations that nobody holds go to the nearest older member,
//          who may so get more than the newest.
// Both give exactly 1/P when all iterations are equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace motley {

enum class Weighting { kConstant, kDecay, kEma };

// One weight per member: none negative, their sum 1. `alpha` in (0, 1].
std::vector<double> group_weights(Weighting weighting, double alpha,
                                  std::span<const std::int64_t> iterations);

// The same as floats, which models are made of. Three times a third in floats is more than 1, and
// every average would make the models a little larger: the heaviest weight is what the others
// leave.
std::vector<float> float_weights(std::span<const double> weights);

}  // namespace motley
