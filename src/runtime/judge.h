// Judge: turns snapshots of a model into metrics, and knows whether the target is reached.
#pragma once

#include <cstdint>
#include <optional>

#include "job/job.h"
#include "record/summary.h"
#include "sync/strategy.h"
#include "sync/task.h"

namespace motley {

// When and where in the run a snapshot was taken.
struct SnapshotNote {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::optional<double> train_loss;  // mean over the samples since the snapshot before
  bool last = false;                 // the model that the run leaves
  Evaluate evaluate;                 // what it is a part of
};

struct SnapshotInfo {
  SnapshotNote note;
  Snapshot snapshot;
};

// Mean training loss between two snapshots, gathered where the snapshots are taken.
class LossMeter {
 public:
  void add(const Progress& progress) {
    sum_ += progress.loss_sum;
    samples_ += progress.loss_samples;
  }
  std::optional<double> take() {
    std::optional<double> mean;
    if (samples_ > 0) {
      mean = sum_ / static_cast<double>(samples_);
    }
    sum_ = 0;
    samples_ = 0;
    return mean;
  }

 private:
  double sum_ = 0;
  std::int64_t samples_ = 0;
};

class Judge {
 public:
  Judge(Task& task, const Job& job) : task_(task), job_(job) {}

  // Evaluates the snapshot on the test set: as slow as a pass over it. nullopt when there is
  // nothing to judge, or when the model at this point of the run was judged before.
  std::optional<Metric> judge(const SnapshotNote& note, const Snapshot& snapshot);

  bool target_reached() const { return target_reached_; }

 private:
  Task& task_;
  const Job& job_;
  std::int64_t judged_samples_ = -1;
  bool target_reached_ = false;
};

}  // namespace motley
