// Settings of the plain parameter-server methods: [strategy.ps] in a job file
// (docs/parameter_server.md). The number of servers is in StrategySpec::ps.
#pragma once

#include <cstdint>

namespace motley {

struct PsSspOptions {
  std::int64_t staleness = 3;  // commits that a worker may be ahead of the slowest
};

}  // namespace motley
