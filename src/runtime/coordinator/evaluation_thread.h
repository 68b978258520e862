// Evaluates snapshots on a thread of its own, at low priority, while training goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "fabric/driver.h"
#include "motley/record/journal.h"
#include "motley/sync/task.h"
#include "runtime/run/snapshot_info.h"

namespace motley {

// What came of a snapshot, and from when to when it was evaluated.
struct EvaluatedSnapshot {
  SnapshotNote note;
  Evaluation evaluation;
  Span span;
};

class EvaluationThread {
 public:
  // The task outlives it.
  explicit EvaluationThread(Task& task);
  // Abandons what is not evaluated yet.
  ~EvaluationThread();
  EvaluationThread(const EvaluationThread&) = delete;
  EvaluationThread& operator=(const EvaluationThread&) = delete;

  // The run began then: spans are seconds since. Before the first add().
  void set_beginning(Driver::Clock::time_point began) { began_ = began; }
  // Any thread; never waits.
  void add(SnapshotInfo snapshot);
  // One that was not taken yet, in order; never waits. Rethrows what the evaluation threw.
  std::optional<EvaluatedSnapshot> take();
  // True when everything added was evaluated.
  bool idle();

 private:
  Seconds now() const;
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  Task& task_;  // of the thread; the rest is guarded
  Driver::Clock::time_point began_;
  std::deque<SnapshotInfo> waiting_;
  std::deque<EvaluatedSnapshot> evaluated_;
  bool working_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
