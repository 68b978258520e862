// Evaluator: turns snapshots of a model into metrics, and knows whether the target is reached.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "motley/job/job.h"
#include "motley/sync/strategy.h"
#include "motley/sync/task.h"
#include "record/summary.h"

namespace motley {

// Mean training loss between two evaluations, gathered from what all workers tell.
struct LossMeter {
  void add(double more_sum, std::int64_t more_samples) {
    sum += more_sum;
    samples += more_samples;
  }
  void add(const LossMeter& other) { add(other.sum, other.samples); }
  std::optional<double> mean() const {
    return samples > 0 ? std::optional(sum / static_cast<double>(samples)) : std::nullopt;
  }
  // What was gathered; begins anew.
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
  LossMeter loss;  // of the training samples since the evaluation before; not the worker's to say
};

struct SnapshotInfo {
  SnapshotNote note;
  Snapshot snapshot;
};

class Evaluator {
 public:
  Evaluator(Task& task, const Job& job) : task_(task), job_(job) {}

  // Evaluates the snapshot on the test set: as slow as a pass over it. nullopt when there is
  // nothing to judge, or when the model at this point of the run was judged before.
  std::optional<Metric> evaluate(const SnapshotNote& note, const Snapshot& snapshot);

  bool target_reached() const { return target_reached_; }

 private:
  Task& task_;
  const Job& job_;
  std::int64_t evaluated_samples_ = -1;
  bool target_reached_ = false;
};

}  // namespace motley
