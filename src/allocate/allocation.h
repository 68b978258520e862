// The allocations by name: how many samples does each worker compute?
//
// An allocation consists of two pure functions, for the initial and for the next shares, and of
// what the second one needs to know. sync/allocator.h measures, collects the numbers and calls
// them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "allocate/decision.h"

namespace motley {

struct AllocationOptions {
  int workers = 1;
  std::size_t total = 0;       // samples in a full step of the whole cluster
  std::vector<double> shares;  // static: the proportion
  double dead_band = 0;        // adaptive: smaller gains do not change the shares
  std::size_t least = 1;       // no share is smaller, unless it is 0
};

// What an allocation is told about every worker, and therefore when it is asked.
enum class CostReport {
  kNothing,       // the initial shares are final
  kWindowMedian,  // after every window: the cost of a step, by SpeedEstimate
  kEpochMean,     // after every epoch: the cost of a step, by MeanTime
};

struct Allocation {
  std::string_view name;  // strategy.allocation in a job
  CostReport told = CostReport::kNothing;
  Decision (*first)(const AllocationOptions& options) = nullptr;
  // Current shares and one cost per worker -> the shares from now on.
  Decision (*next)(const Shares& shares, std::span<const StepCost> costs,
                   const AllocationOptions& options) = nullptr;
};

// What an allocation decides, without shares that are too small.
Decision first_shares(const Allocation& allocation, const AllocationOptions& options);
Decision next_shares(const Allocation& allocation, const Shares& shares,
                     std::span<const StepCost> costs, const AllocationOptions& options);

std::span<const Allocation> allocations();
// nullptr if there is no such allocation.
const Allocation* find_allocation(std::string_view name);

}  // namespace motley
