// Reads the IDX files of MNIST and similar data sets (http://yann.lecun.com/exdb/mnist), in one
// folder:
//   train-images-idx3-ubyte   train-labels-idx1-ubyte   t10k-images-idx3-ubyte   t10k-labels-...
// each plain or with the suffix .gz. Images become {1, rows, columns}; labels are 0 to `classes` -
// 1.
#pragma once

#include <cstdint>
#include <string>

#include "compute/data/dataset.h"

namespace motley {

Result<Dataset> read_idx(const std::string& folder, std::int64_t classes, Parts parts);

}  // namespace motley
