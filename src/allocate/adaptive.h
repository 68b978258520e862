// Self-adaptive allocation (Chao, Liao, Gao, arXiv 2111.08272): every window of steps, shares under
// which all workers take equally long.
//
// The paper's rule is the proportion of the measured speeds. With a fixed cost per step that rule
// only approaches the best shares; here the fixed part is known (allocate/speed.h) and they are
// solved for. Without a fixed part the two are the same.
#pragma once

#include <span>

#include "allocate/decision.h"

namespace motley {

// Real-valued shares of `total`, each at least one sample, that make the longest step as short as
// possible: all last the same, but those whose single sample already lasts longer.
std::vector<double> balanced_shares(std::size_t total, std::span<const StepCost> costs);

// Changes the shares only for a gain: the step must become shorter by more than `dead_band` (a part
// of it), and by more than the noise of the measurements explains.
Decision adaptive_shares(const Shares& shares, std::span<const StepCost> costs, double dead_band);

}  // namespace motley
