// Judges snapshots on a thread of its own, at low priority, while training goes on.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/control.h"
#include "runtime/judge.h"

namespace motley {

class Evaluator {
 public:
  explicit Evaluator(Judge judge);
  // Abandons what is not judged yet.
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  // Any thread; never waits.
  void add(SnapshotInfo snapshot);
  // A metric that was not taken yet, in order; never waits. Rethrows what judging threw.
  std::optional<Metric> take();
  // True when everything added was judged.
  bool idle();
  bool target_reached();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  Judge judge_;  // of the thread; the rest is guarded
  std::deque<SnapshotInfo> waiting_;
  std::deque<Metric> judged_;
  bool working_ = false;
  bool target_reached_ = false;
  bool stopping_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace motley
