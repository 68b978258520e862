// Reads the text format of LIBSVM (https://www.csie.ntu.edu.tw/~cjlin/libsvm): one sample per line,
//
//   label index:value index:value ...     # the rest is a comment
//
// Indices count from 1 and ascend; features that are not listed are 0. Labels are integers: -1 and
// +1, or 0 to k-1, or 1 to k; the training file decides which, and the model sees classes 0 to k-1.
// Samples are stored as sparse rows; a gathered batch is dense and takes batch x features floats.
//
// The number of features is the largest index in the training file; larger ones in the test file
// are dropped, as in LIBLINEAR. Without a test file, the share `holdout` of the training file,
// chosen by the seed, is used for testing. Files may be gzip-compressed.
#pragma once

#include <cstdint>

#include "compute/data/dataset.h"

namespace motley {

inline constexpr std::uint32_t kMaxLibsvmFeatures = 1 << 22;
inline constexpr std::int32_t kMaxLibsvmClasses = 1000;

Result<Dataset> read_libsvm(const DataSpec& spec, std::uint64_t seed, Parts parts);

}  // namespace motley
