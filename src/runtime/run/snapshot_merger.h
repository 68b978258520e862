// SnapshotMerger: makes one model out of the parts that several workers send for an evaluation.
#pragma once

#include <map>
#include <optional>

#include "runtime/run/snapshot_info.h"

namespace motley {

class SnapshotMerger {
 public:
  // The mean of all parts, when this one is the last. It is as old as its latest part.
  std::optional<SnapshotInfo> add(SnapshotInfo part);

 private:
  struct Sum {
    SnapshotInfo so_far;
    int parts = 0;
  };

  std::map<std::int64_t, Sum> sums_;  // by the number of their evaluation
};

}  // namespace motley
