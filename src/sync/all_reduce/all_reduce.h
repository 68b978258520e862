// Synchronous training by all-reduce: every worker computes its share of the step's batch, the
// gradient sums are summed over all workers, and each worker applies the same step.
//
// The sum is divided by the number of samples in the step, whoever computed them. So for any shares
// the step is that of one machine with the whole batch (Chao et al., arXiv 2111.08272), apart from
// a codec's rounding.
//
// Cost of a step: the slowest worker's computing, then one Reducer::sum of the parameters.
#pragma once

#include <memory>

#include "motley/sync/method.h"
#include "sync/reducer.h"

namespace motley {

extern const Method kAllReduce;

// The same worker with a given reducer.
std::unique_ptr<Strategy> make_all_reduce_over(const StrategyContext& context,
                                               std::unique_ptr<Reducer> reducer);

}  // namespace motley
