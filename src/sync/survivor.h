// Survivor: how far a worker was when its term was cut off.
#pragma once

#include <cstdint>

#include "motley/sync/strategy.h"

namespace motley {

struct Survivor {
  Settled settled;
  // Its iterations in this term whose gradient its model has.
  std::int64_t iterations = 0;
};

}  // namespace motley
