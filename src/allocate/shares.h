// How many of a step's samples each worker computes, as integers. Pure: the same on every rank.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace motley {

using Shares = std::vector<std::size_t>;  // samples, one entry per worker

// `total` samples over `workers`, as equal as integers allow; the first ranks take the remainder.
Shares equal_shares(std::size_t total, int workers);

// `total` samples in the proportion of `weights` (all above 0, one per worker), rounded by largest
// remainder, ties by rank, so that they add up exactly. Every worker gets at least one sample if
// there are enough; weights too small for one are rounded up at the expense of the others.
Shares integer_shares(std::size_t total, std::span<const double> weights);

// The same total, with no share from 1 to least - 1: some workers get nothing, or a bit more, at
// the expense of the largest shares. Unless that total is itself below `least`: then one worker has
// it.
Shares without_small_shares(Shares shares, std::size_t least);

}  // namespace motley
