// Synchronous training by all-reduce: every worker computes its share of the step's batch, the sums
// of gradients are summed over all workers, and each applies the same step.
//
// The sum is divided by the number of samples of the step, whoever computed them. So the step is
// that of one machine with the whole batch, for any shares (Chao et al., arXiv 2111.08272); with a
// codec, up to what that rounds.
//
// Cost of a step: the slowest worker's computing, then one Reducer::sum of the parameters.
#pragma once

#include <memory>

#include "motley/sync/method.h"
#include "sync/reducer.h"

namespace motley {

extern const Method kAllReduce;

// The same worker with another way to the sum.
std::unique_ptr<Strategy> make_all_reduce_over(const StrategyContext& context,
                                               std::unique_ptr<Reducer> reducer);

}  // namespace motley
