#include "allocate/dynamic.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace motley {

Decision dynamic_shares(const Shares& shares, std::span<const StepCost> costs) {
  if (!std::ranges::all_of(costs, &StepCost::known)) {
    return {shares, "kept: not every worker is measured yet"};
  }
  std::vector<double> weights;  // p_i / m_i, where m_i = p_i * B * per_sample
  Seconds shortest = costs[0].of(shares[0]);
  Seconds longest = shortest;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    weights.push_back(1 / costs[i].per_sample);
    shortest = std::min(shortest, costs[i].of(shares[i]));
    longest = std::max(longest, costs[i].of(shares[i]));
  }
  const std::size_t total = std::accumulate(shares.begin(), shares.end(), std::size_t{0});
  return {integer_shares(total, weights),
          fmt::format("steps of the epoch took {:.4g} to {:.4g} ms on the workers", 1e3 * shortest,
                      1e3 * longest)};
}

}  // namespace motley
