// Evaluates snapshots on a separate low-priority thread while training goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "fabric/driver.h"
#include "motley/record/journal.h"
#include "motley/sync/task.h"
#include "runtime/run/snapshot_info.h"

namespace motley {

// The result of an evaluation, and the time it took.
struct EvaluatedSnapshot {
  SnapshotNote note;
  Evaluation evaluation;
  Span span;
};

class EvaluationThread {
 public:
  // The task must outlive this object.
  explicit EvaluationThread(Task& task);
  // Drops snapshots that are not evaluated yet.
  ~EvaluationThread();
  EvaluationThread(const EvaluationThread&) = delete;
  EvaluationThread& operator=(const EvaluationThread&) = delete;

  // Sets the start of the run, which spans are relative to. Call before the first add().
  void set_beginning(Driver::Clock::time_point began) { began_ = began; }
  // May be called on any thread. Never blocks.
  void add(SnapshotInfo snapshot);
  // The next result, in the order of add(), if there is one. Never blocks. Rethrows the exception
  // of a failed evaluation.
  std::optional<EvaluatedSnapshot> take();
  // True when all added snapshots have been evaluated.
  bool idle();
  // How many snapshots were added so far, and of how many the result was taken, or there was none.
  std::int64_t added();
  std::int64_t settled();
  // The snapshot that was added last, evaluated or not; null if there is none.
  std::shared_ptr<const SnapshotInfo> newest();

 private:
  Seconds now() const;
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  Task& task_;  // used by the thread alone; the mutex guards the rest
  Driver::Clock::time_point began_;
  std::deque<std::shared_ptr<const SnapshotInfo>> waiting_;
  std::shared_ptr<const SnapshotInfo> newest_;
  std::deque<EvaluatedSnapshot> evaluated_;
  std::int64_t added_ = 0;
  std::int64_t finished_ = 0;
  bool working_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
