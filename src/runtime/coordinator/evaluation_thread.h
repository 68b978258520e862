// Judges snapshots on a thread of its own, at low priority, while training goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "fabric/driver.h"
#include "motley/record/journal.h"
#include "runtime/run/control.h"
#include "runtime/run/evaluator.h"

namespace motley {

// What came of a snapshot, and from when to when it was judged.
struct TimedMetric {
  Metric metric;
  Span span;
};

class EvaluationThread {
 public:
  explicit EvaluationThread(Evaluator judge);
  // Abandons what is not judged yet.
  ~EvaluationThread();
  EvaluationThread(const EvaluationThread&) = delete;
  EvaluationThread& operator=(const EvaluationThread&) = delete;

  // The run began then: spans are seconds since. Before the first add().
  void set_beginning(Driver::Clock::time_point began) { began_ = began; }
  // Any thread; never waits.
  void add(SnapshotInfo snapshot);
  // One that was not taken yet, in order; never waits. Rethrows what judging threw.
  std::optional<TimedMetric> take();
  // True when everything added was judged.
  bool idle();
  bool target_reached();

 private:
  Seconds now() const;
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  Evaluator evaluator_;  // of the thread; the rest is guarded
  Driver::Clock::time_point began_;
  std::deque<SnapshotInfo> waiting_;
  std::deque<TimedMetric> evaluated_kind_;
  bool working_ = false;
  bool target_reached_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
