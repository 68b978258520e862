// Local SGD (Stich, ICLR 2019): each worker takes H steps on its own model, then all average.
//
// The steps are those of all_reduce: every worker computes its share of each batch, but moves its
// own model by the mean gradient of its own samples. After H steps the model becomes
//
//   base + sum over workers of weight * (model - base)
//
// where base is the last average and the weight is a worker's share of the samples since then. So
// every sample counts the same, and H = 1 with plain SGD is all_reduce. Workers exchange changes,
// which get small as training settles; a codec rounds changes, never the model itself.
//
// With outer_lr and outer_momentum the averaged change is a gradient for an outer step with
// Nesterov momentum (DiLoCo; Douillard et al., arXiv 2311.08105).
//
// Cost: one Reducer::sum of the parameters every H steps, and nothing in between. Memory: a copy of
// the model, and another one with outer momentum.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kLocalSgd;

}  // namespace motley
