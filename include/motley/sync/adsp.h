// Settings of the method adsp: [strategy.adsp] in a job file (docs/parameter_server.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

struct AdspOptions {
  std::optional<double> period = {};       // Gamma: seconds between two looks at the commit rate
  std::int64_t commits = 1;                // that every worker makes in the first period
  bool search = true;                      // for the number of commits
  std::optional<double> loss_target = {};  // of the reward
};

}  // namespace motley
