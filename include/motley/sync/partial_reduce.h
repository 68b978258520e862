// Settings of the method partial_reduce: [strategy.partial_reduce] in a job file
// (docs/partial_reduce.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

enum class GroupWeights {
  kConstant,  // all models of a group count the same
  kDynamic,   // stale models count less
};
// How dynamic weights follow from staleness.
enum class DynamicRule {
  kDecay,  // alpha to the power of the staleness
  kEma,    // the weights of a moving average
};

struct PartialReduceOptions {
  int group = 2;  // P: members of a group
  GroupWeights weights = GroupWeights::kConstant;
  DynamicRule dynamic_rule = DynamicRule::kDecay;
  double alpha = 0.5;  // dynamic: what one iteration of staleness leaves of a weight
  std::optional<std::int64_t> window = {};  // T, groups
  bool filter = true;

  // When no window is given: as many groups as give every worker ten iterations. That keeps the
  // workers connected, and hardly ever makes one wait for it.
  std::int64_t window_among(std::int64_t workers) const {
    return window.value_or((10 * workers + group - 1) / group);
  }
  // The fewest groups that can connect all workers: each joins P parts of the cluster.
  std::int64_t fewest_among(std::int64_t workers) const {
    return (workers - 1 + group - 2) / (group - 1);
  }
};

}  // namespace motley
