// Dynamic partitioning (Vineeth S, arXiv 2110.08941): after every epoch p_i <- (p_i / m_i) / sum,
// where p_i is the worker's share of data and batch and m_i the mean time of its steps.
//
// p_i is the share that the worker really had, b_i / B, not a separate real number: m_i belongs to
// the whole number of samples that was computed. (The paper leaves this open.)
//
// A worker that computes its share in parts takes a jump longer with one part more, which the rule
// does not know: it would go back and forth across the jump. So shares stay if the next ones would
// make the longest step longer.
#pragma once

#include <span>

#include "allocate/decision.h"

namespace motley {

// `costs` holds the mean time of the epoch's steps, proportional to their samples or, for a worker
// whose fixed cost of a part is known, with that cost.
Decision dynamic_shares(const Shares& shares, std::span<const StepCost> costs);

}  // namespace motley
