#include "allocate/allocation.h"

#include <array>
#include <utility>

#include "allocate/adaptive.h"
#include "allocate/dynamic.h"

namespace motley {
namespace {

Decision equal(const AllocationOptions& options) {
  return {equal_shares(options.total, options.workers), "equal shares"};
}

Decision as_given(const AllocationOptions& options) {
  return {integer_shares(options.total, options.shares), "the proportion that the job gives"};
}

Decision adaptive(const Shares& shares, std::span<const StepCost> costs,
                  const AllocationOptions& options) {
  return adaptive_shares(shares, costs, options.dead_band);
}

Decision dynamic(const Shares& shares, std::span<const StepCost> costs, const AllocationOptions&) {
  return dynamic_shares(shares, costs);
}

constexpr std::array kAllocations = {
    Allocation{"equal", CostReport::kNothing, equal, nullptr},
    Allocation{"static", CostReport::kNothing, as_given, nullptr},
    Allocation{"adaptive", CostReport::kWindowMedian, equal, adaptive},
    Allocation{"dynamic", CostReport::kEpochMean, equal, dynamic},
};

}  // namespace

Decision first_shares(const Allocation& allocation, const AllocationOptions& options) {
  Decision decision = allocation.first(options);
  decision.shares = without_small_shares(std::move(decision.shares), options.least);
  return decision;
}

Decision next_shares(const Allocation& allocation, const Shares& shares,
                     std::span<const StepCost> costs, const AllocationOptions& options) {
  Decision decision = allocation.next(shares, costs, options);
  decision.shares = without_small_shares(std::move(decision.shares), options.least);
  return decision;
}

std::span<const Allocation> allocations() { return kAllocations; }

const Allocation* find_allocation(std::string_view name) {
  for (const Allocation& allocation : kAllocations) {
    if (allocation.name == name) {
      return &allocation;
    }
  }
  return nullptr;
}

}  // namespace motley
