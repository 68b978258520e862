// Settings of the method local_sgd: [strategy.local_sgd] in a job file (docs/local_sgd.md).
#pragma once

#include <cstdint>

namespace motley {

struct LocalSgdOptions {
  std::int64_t steps = 8;     // H: steps between two averages
  double outer_lr = 1;        // factor on the averaged change
  double outer_momentum = 0;  // Nesterov momentum on the averaged change
};

}  // namespace motley
