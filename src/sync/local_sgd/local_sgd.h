// Local SGD (Stich, ICLR 2019): H steps each on its own model, then all average.
//
// The steps are those of all_reduce: every worker computes its share of each batch, but moves its
// own model by the mean gradient of its own samples. After H of them the model becomes
//
//   base + sum over workers of weight * (model - base)
//
// where base is the last average and the weight a worker's part of the samples since then. So every
// sample counts the same, and H = 1 with plain SGD is all_reduce. What travels is changes, which
// grow small as training settles, so a codec rounds changes and never the model itself.
//
// With outer_lr and outer_momentum the averaged change is a gradient for an outer step with
// Nesterov's momentum (DiLoCo; Douillard et al., arXiv 2311.08105).
//
// Cost: every H steps one Reducer::sum of the parameters, and nothing in between. A copy of the
// model; with outer momentum another one.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kLocalSgd;

}  // namespace motley
