#include "allocate/adaptive.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace motley {
namespace {

// The worker with the longest step, and its duration.
struct Slowest {
  std::size_t rank = 0;
  Seconds seconds = 0;
};

Slowest slowest(const Shares& shares, std::span<const StepCost> costs) {
  Slowest result;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if (const Seconds seconds = costs[i].of(shares[i]); seconds > result.seconds) {
      result = {i, seconds};
    }
  }
  return result;
}

double at_least_one(Seconds step, const StepCost& cost) {
  return std::max(1.0, cost.samples_within(step));
}

double usual_error(std::span<const StepCost> costs) {
  std::vector<double> errors;
  for (const StepCost& cost : costs) {
    errors.push_back(cost.error);
  }
  return middle_of(std::move(errors)).time;
}

// The gain that chance alone may well produce. It has two parts: the error of the slowest worker's
// time, and the error of all times together, where the errors of many workers cancel. The slowest
// is the maximum of n: among n equal workers one is sqrt(2 ln n) standard errors late by chance. A
// worker that was late by chance may also look certain by chance, so the typical error of the
// others is used. Roots and products give the same bits on every machine; log and hypot may not.
double chance(const Shares& shares, std::span<const StepCost> costs, std::size_t slowest_rank) {
  double total = 0;
  double together = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const auto share = static_cast<double>(shares[i]);
    total += share;
    together += share * costs[i].error * share * costs[i].error;
  }
  const double slowest_error = std::max(costs[slowest_rank].error, usual_error(costs));
  const double picked =
      std::sqrt(2 * std::numbers::ln2 * static_cast<double>(std::bit_width(shares.size() - 1)));
  return (2 + picked) * std::sqrt(slowest_error * slowest_error + together / (total * total));
}

}  // namespace

std::vector<double> balanced_shares(std::size_t total, std::span<const StepCost> costs) {
  const auto wanted = static_cast<double>(total);
  MOTLEY_CHECK(total >= costs.size(), "{} samples for {} workers", total, costs.size());
  // The longer the step, the more samples fit into it: bisect until the interval cannot be halved.
  Seconds too_short = 0;
  Seconds enough = 0;
  for (const StepCost& cost : costs) {
    enough = std::max(enough, cost.of(total));
  }
  for (Seconds step = enough / 2; too_short < step && step < enough;
       step = (too_short + enough) / 2) {
    double samples = 0;
    for (const StepCost& cost : costs) {
      samples += at_least_one(step, cost);
    }
    (samples < wanted ? too_short : enough) = step;
  }
  std::vector<double> shares;
  for (const StepCost& cost : costs) {
    shares.push_back(at_least_one(enough, cost));
  }
  return shares;
}

Decision adaptive_shares(const Shares& shares, std::span<const StepCost> costs, double dead_band) {
  if (!std::ranges::all_of(costs, &StepCost::known)) {
    return {shares, "kept: not every worker is measured yet"};
  }
  std::size_t total = 0;
  for (std::size_t share : shares) {
    total += share;
  }
  const Shares balanced = integer_shares(total, balanced_shares(total, costs));
  const Slowest now = slowest(shares, costs);
  const Slowest then = slowest(balanced, costs);
  const double gain = 1 - then.seconds / now.seconds;
  const double needed = std::max(dead_band, chance(shares, costs, now.rank));
  if (gain <= needed) {
    return {shares, fmt::format("kept: a gain of {:.1f} % is not above {:.1f} %", 100 * gain,
                                100 * needed)};
  }
  return {balanced, fmt::format("worker {} took longest: {:.4g} ms a step, now {:.4g} ms, {:.0f} % "
                                "less",
                                now.rank, 1e3 * now.seconds, 1e3 * then.seconds, 100 * gain)};
}

}  // namespace motley
