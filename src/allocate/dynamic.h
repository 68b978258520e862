// Dynamic partitioning (Vineeth S, arXiv 2110.08941): after every epoch p_i <- (p_i / m_i) / sum,
// where p_i is the worker's part of data and batch and m_i the mean time of its steps.
//
// p_i is the part that the worker really had, b_i / B, not a fraction carried along beside it: m_i
// belongs to the whole number of samples that was computed (ours, where the paper is silent).
#pragma once

#include <span>

#include "allocate/decision.h"

namespace motley {

// `costs` holds the mean time of the epoch's steps, in proportion to their samples.
Decision dynamic_shares(const Shares& shares, std::span<const StepCost> costs);

}  // namespace motley
