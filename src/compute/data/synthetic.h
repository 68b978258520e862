// A generated data set: one cloud of points per class around its own center, and a small share of
// wrong labels. Training and test samples come from the same clouds. The same seed gives the same
// floats on every machine: it uses no library distribution and no libm.
#pragma once

#include <cstdint>

#include "compute/data/dataset.h"

namespace motley {

Result<Dataset> make_synthetic(const DataSpec& spec, std::uint64_t seed, Parts parts);

}  // namespace motley
