// The allocations that exist, by name: how much does each worker compute?
//
// An allocation is two pure functions, the shares to begin with and the shares to go on with, and
// what the second one is told. sync/allocator.h measures, brings the numbers together and asks.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "allocate/decision.h"

namespace motley {

struct AllocationOptions {
  int workers = 1;
  std::size_t total = 0;       // samples in a full step of the whole cluster
  std::vector<double> shares;  // static: in what proportion
  double dead_band = 0;        // adaptive: smaller gains do not change the shares
};

// What an allocation is told of every worker, and so when it is asked.
enum class Told {
  kNothing,       // the first shares are the last
  kWindowMedian,  // after every window: what a step costs, by SpeedEstimate
  kEpochMean,     // after every epoch: what a step cost, by MeanTime
};

struct Allocation {
  std::string_view name;  // strategy.allocation in a job
  Told told = Told::kNothing;
  Decision (*first)(const AllocationOptions& options) = nullptr;
  // The shares that hold now and one cost per worker -> the shares that hold from now on.
  Decision (*next)(const Shares& shares, std::span<const StepCost> costs,
                   const AllocationOptions& options) = nullptr;
};

std::span<const Allocation> allocations();
// nullptr when there is none of that name.
const Allocation* find_allocation(std::string_view name);

}  // namespace motley
