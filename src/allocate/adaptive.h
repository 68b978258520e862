// Self-adaptive allocation (Chao, Liao, Gao, arXiv 2111.08272): after every window of steps,
// chooses shares with which all workers take equally long.
//
// The paper makes shares proportional to the measured speeds. With a fixed cost per step that only
// approaches the best shares; here the fixed part is known (allocate/speed.h) and the shares are
// solved for, also if a worker computes its share in parts and every part has the fixed cost.
// Without a fixed part both are the same.
#pragma once

#include <span>

#include "allocate/decision.h"

namespace motley {

// Real-valued shares of `total`, each at least one sample, that minimise the longest step: all
// steps take equally long, except for workers whose single sample already takes longer, and for
// workers whose parts are full and whose next part does not fit.
std::vector<double> balanced_shares(std::size_t total, std::span<const StepCost> costs);

// Changes the shares only for a gain: the step must become shorter by more than `dead_band` (a
// fraction of it), and by more than the noise of the measurements explains.
Decision adaptive_shares(const Shares& shares, std::span<const StepCost> costs, double dead_band);

}  // namespace motley
