// SnapshotMerger: averages the models that several workers send for one evaluation.
#pragma once

#include <map>
#include <optional>

#include "runtime/run/snapshot_info.h"

namespace motley {

class SnapshotMerger {
 public:
  // Returns the mean of all parts once the last one has been added; its time is that of the latest
  // part.
  std::optional<SnapshotInfo> add(SnapshotInfo part);

 private:
  struct Sum {
    SnapshotInfo so_far;
    int parts = 0;
  };

  std::map<std::int64_t, Sum> sums_;  // by Evaluate::number
};

}  // namespace motley
