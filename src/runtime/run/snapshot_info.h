// What workers tell the run of their training: losses, and models to be evaluated.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "motley/base/ids.h"
#include "motley/sync/strategy.h"
#include "motley/sync/task.h"

namespace motley {

// Mean training loss of a stretch of the run, gathered from what all workers tell.
struct LossMeter {
  // A sum that is not finite is left out: a program that does not know its loss says NaN.
  void add(double more_sum, std::int64_t more_samples) {
    if (std::isfinite(more_sum)) {
      sum += more_sum;
      samples += more_samples;
    }
  }
  void add(const LossMeter& other) { add(other.sum, other.samples); }
  std::optional<double> mean() const {
    return samples > 0 ? std::optional(sum / static_cast<double>(samples)) : std::nullopt;
  }
  // Returns what was gathered, and begins anew.
  LossMeter take() { return std::exchange(*this, {}); }

  double sum = 0;
  std::int64_t samples = 0;
};

// When and where in the run a snapshot was taken.
struct SnapshotNote {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  bool last = false;  // the model that the run leaves
  Evaluate evaluate;  // what it is a part of
  LossMeter loss;     // of the training samples since the evaluation before; set by the run's logic
};

struct SnapshotInfo {
  SnapshotNote note;
  Snapshot snapshot;
};

}  // namespace motley
