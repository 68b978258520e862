// Settings of the method adsp: [strategy.adsp] in a job file (docs/parameter_server.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

struct AdspOptions {
  std::optional<double> period = {};       // Gamma: check period, seconds
  std::int64_t commits = 1;                // per worker in the first period
  bool search = true;                      // search for the best number of commits
  std::optional<double> loss_target = {};  // loss used in the reward
};

}  // namespace motley
