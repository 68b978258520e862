// A data set out of thin air: one cloud of points per class, around a center of its own, and a
// small share of wrong labels. Training and test samples come from the same clouds. The same seed
// gives the same floats on every machine: no library distribution and no libm is involved.
#pragma once

#include <cstdint>

#include "compute/data/dataset.h"

namespace motley {

Result<Dataset> make_synthetic(const DataSpec& spec, std::uint64_t seed, Parts parts);

}  // namespace motley
