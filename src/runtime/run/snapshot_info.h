// What workers report about their training: losses, and models to evaluate.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

#include "motley/base/ids.h"
#include "motley/sync/strategy.h"
#include "motley/sync/task.h"

namespace motley {

// Mean training loss over a part of the run, summed over the reports of all workers.
struct LossMeter {
  // Ignores a sum that is not finite: a program that does not know its loss reports NaN.
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
  // Returns the sums and resets them.
  LossMeter take() { return std::exchange(*this, {}); }

  void state(Archive& archive) {
    archive("sum", sum);
    archive("samples", samples);
  }

  double sum = 0;
  std::int64_t samples = 0;
};

// When and where in the run a snapshot was taken.
struct SnapshotNote {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  bool last = false;  // the final model of the run
  Evaluate evaluate;  // the evaluation that it is a part of
  LossMeter loss;     // of the training samples since the last evaluation; set by RunLogic
};

struct SnapshotInfo {
  SnapshotNote note;
  Snapshot snapshot;
};

}  // namespace motley
