// Settings of the method ps_dssp: [strategy.ps_dssp] in a job file (docs/ps_dssp.md).
#pragma once

#include <cstdint>

namespace motley {

// How many commits a worker may be ahead of the slowest: always staleness_low, and up to
// staleness_high if that shortens its wait.
struct PsDsspOptions {
  std::int64_t staleness_low = 3;    // s_L
  std::int64_t staleness_high = 15;  // s_H
};

}  // namespace motley
