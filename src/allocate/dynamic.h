// Dynamic partitioning (Vineeth S, arXiv 2110.08941): after every epoch p_i <- (p_i / m_i) / sum,
// where p_i is the worker's share of data and batch and m_i the mean time of its steps.
//
// p_i is the share that the worker really had, b_i / B, not a separate real number: m_i belongs to
// the whole number of samples that was computed. (The paper leaves this open.)
#pragma once

#include <span>

#include "allocate/decision.h"

namespace motley {

// `costs` holds the mean time of the epoch's steps, proportional to their samples.
Decision dynamic_shares(const Shares& shares, std::span<const StepCost> costs);

}  // namespace motley
