#include <algorithm>
#include <numeric>

#include "sync/allocator.h"

namespace motley {
namespace {

class AllocatorFitter {
 public:
  AllocatorFitter(const std::vector<State>& before, const AllocatorFit& fit)
      : fit_(fit),
        allocation_(*find_allocation(fit.job.strategy.allocation)),
        total_(static_cast<std::size_t>(full_step(fit.ledger))) {
    for (const State& state : before) {
      AllocatorState& its = before_.emplace_back();
      if (!state.empty()) {
        restore(its, state);
      }
    }
  }

  // Whether the states fit as they are.
  bool fits() const {
    return fit_.keeps_allocation && !fit_.members.changed() && !fit_.is_cut_off &&
           std::ranges::all_of(before_, [&](const AllocatorState& its) {
             return its.history.empty() || is_right(its.history.back().decision.shares);
           });
  }

  std::vector<State> states() const {
    const Shares shares = is_fixed() ? first() : in_proportion();
    const std::vector<StepCost> costs = is_fixed() ? std::vector<StepCost>{} : known_costs();
    std::vector<State> now;
    for (Rank rank = 0; rank < fit_.members.now(); ++rank) {
      AllocatorState its = state_of_rank(rank);
      its.costs = costs;
      its.steps = 0;  // all look soon, and in the same step
      its.used = fit_.ledger.begin;
      its.decided.reset();
      its.asked.reset();
      use(shares, its.history, is_fixed() && rank != 0);
      now.push_back(state_of(its));
    }
    return now;
  }

 private:
  bool is_fixed() const { return allocation_.told == CostReport::kNothing; }
  Shares first() const {
    return first_shares(allocation_, allocation_options(fit_.job, fit_.ledger)).shares;
  }
  bool is_right(const Shares& shares) const {
    return is_fixed() ? shares == first()
                      : std::reduce(shares.begin(), shares.end(), std::size_t{0}) == total_;
  }

  AllocatorState state_of_rank(Rank rank) const {
    const std::optional<Rank> was = fit_.members.previous[static_cast<std::size_t>(rank)];
    if (was) {
      return before_[static_cast<std::size_t>(*was)];
    }
    return {.speed = SpeedEstimate(fit_.job.train.micro_batch_of(rank))};
  }

  // Each worker's own share, as itself knows it. With fixed shares only the first one does.
  std::optional<std::size_t> share_before(Rank rank) const {
    const auto self = static_cast<std::size_t>(rank);
    for (const AllocatorState* known : {&before_[self], &before_.front()}) {
      if (!known->history.empty() && known->history.back().decision.shares.size() > self) {
        return known->history.back().decision.shares[self];
      }
    }
    return std::nullopt;
  }

  Shares in_proportion() const {
    std::vector<std::optional<std::size_t>> known;
    double sum = 0;
    double count = 0;
    for (const std::optional<Rank>& was : fit_.members.previous) {
      known.push_back(was ? share_before(*was) : std::nullopt);
      sum += static_cast<double>(known.back().value_or(0));
      count += known.back() ? 1 : 0;
    }
    const double mean = sum > 0 ? sum / count : 1;
    std::vector<double> weights;
    for (const auto& share : known) {
      weights.push_back(std::max(share ? static_cast<double>(*share) : mean, 1e-3));
    }
    return without_small_shares(integer_shares(total_, weights),
                                static_cast<std::size_t>(fit_.job.train.min_share));
  }

  // The last estimates of those who stay. A newcomer is expected to be like the mean of them.
  std::vector<StepCost> known_costs() const {
    std::vector<StepCost> costs;
    StepCost mean;
    double count = 0;
    for (const std::optional<Rank>& was : fit_.members.previous) {
      costs.push_back(was ? before_[static_cast<std::size_t>(*was)].cost : StepCost{});
      if (costs.back().known()) {
        mean.fixed += costs.back().fixed;
        mean.per_sample += costs.back().per_sample;
        mean.error = std::max(mean.error, costs.back().error);
        count += 1;
      }
    }
    for (Rank rank = 0; rank < fit_.members.now(); ++rank) {
      StepCost& cost = costs[static_cast<std::size_t>(rank)];
      if (!cost.known() && count > 0) {
        cost = mean;
        cost.fixed /= count;
        cost.per_sample /= count;
      }
      cost.micro_batch = fit_.job.train.micro_batch_of(rank);
    }
    return costs;
  }

  void use(const Shares& shares, std::vector<ShareChange>& history, bool keeps_none) const {
    if (keeps_none) {
      history.clear();
    } else if (history.empty() || history.back().decision.shares != shares) {
      const std::int64_t batch = fit_.ledger.batch;
      history.push_back({(fit_.ledger.begin + batch - 1) / batch,
                         {shares, "the run goes on with other workers or settings"}});
    }
  }

  const AllocatorFit& fit_;
  const Allocation& allocation_;
  const std::size_t total_;
  std::vector<AllocatorState> before_;
};

}  // namespace

std::vector<State> fitted_allocators(const std::vector<State>& before, const AllocatorFit& fit) {
  const AllocatorFitter fitter(before, fit);
  return fitter.fits() ? before : fitter.states();
}

}  // namespace motley
