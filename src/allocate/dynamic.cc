#include "allocate/dynamic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace motley {

namespace {

// Mean time of one sample in a step of `share`.
Seconds mean_of_sample(const StepCost& cost, std::size_t share) {
  return cost.per_sample + cost.parts(share) * cost.fixed / static_cast<double>(share);
}

Seconds longest(const Shares& shares, std::span<const StepCost> costs) {
  Seconds longest = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    longest = std::max(longest, costs[i].of(shares[i]));
  }
  return longest;
}

}  // namespace

Decision dynamic_shares(const Shares& shares, std::span<const StepCost> costs) {
  if (!std::ranges::all_of(costs, &StepCost::known)) {
    return {shares, "kept: not every worker is measured yet"};
  }
  std::vector<double> weights;  // p_i / m_i, where m_i = p_i * B * per_sample
  Seconds shortest = costs[0].of(shares[0]);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    weights.push_back(1 / mean_of_sample(costs[i], shares[i]));
    shortest = std::min(shortest, costs[i].of(shares[i]));
  }
  const std::size_t total = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  const Shares next = integer_shares(total, weights);
  const Seconds now = longest(shares, costs);
  const bool in_parts = std::ranges::any_of(costs, [](auto& cost) { return cost.fixed > 0; });
  if (const Seconds then = longest(next, costs); in_parts && then > now) {
    return {shares, fmt::format("kept: with one more part a step would take {:.4g} ms, not {:.4g}",
                                1e3 * then, 1e3 * now)};
  }
  return {next, fmt::format("steps of the epoch took {:.4g} to {:.4g} ms on the workers",
                            1e3 * shortest, 1e3 * now)};
}

}  // namespace motley
