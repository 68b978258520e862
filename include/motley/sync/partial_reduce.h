// Settings of the method partial_reduce: [strategy.partial_reduce] in a job file
// (docs/partial_reduce.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

// When the workers that are ready become a group.
enum class GroupTiming {
  kCount,   // as soon as there are `group` of them
  kWindow,  // after a short wait that adapts until groups have `group` members
};
enum class GroupWeights {
  kConstant,  // all models of a group have the same weight
  kDynamic,   // stale models have less weight
};
// How dynamic weights depend on staleness.
enum class DynamicRule {
  kDecay,  // alpha to the power of the staleness
  kEma,    // the weights of a moving average
};

struct PartialReduceOptions {
  int group = 2;  // P: workers in a group
  GroupTiming policy = GroupTiming::kCount;
  GroupWeights weights = GroupWeights::kConstant;
  DynamicRule dynamic_rule = DynamicRule::kDecay;
  double alpha = 0.5;  // dynamic weights: factor for one iteration of staleness
  std::optional<std::int64_t> window = {};  // T, groups
  bool filter = true;

  // The window; by default as many groups as give every worker ten iterations. That keeps the
  // workers connected, and a worker hardly ever has to wait for it.
  std::int64_t window_among(std::int64_t workers) const {
    return window.value_or((10 * workers + group - 1) / group);
  }
  // The fewest groups that can connect all workers: each group connects P parts of the cluster.
  std::int64_t fewest_among(std::int64_t workers) const {
    return (workers - 1 + group - 2) / (group - 1);
  }
};

}  // namespace motley
