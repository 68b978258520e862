// Reads CIFAR-10, the binary version (https://www.cs.toronto.edu/~kriz/cifar.html):
// data_batch_1.bin to data_batch_5.bin and test_batch.bin, in `folder` or in its subfolder
// cifar-10-batches-bin. A file consists of records of 3073 bytes: a label 0 to 9, then 1024 red,
// 1024 green and 1024 blue pixels.
#pragma once

#include <string>

#include "compute/data/dataset.h"

namespace motley {

Result<Dataset> read_cifar10(const std::string& folder, Parts parts);

}  // namespace motley
