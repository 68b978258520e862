// Host: the coordinator of a program's run, on a thread of rank 0's process.
//
//   Host host(job, training_samples, gathering, options);
//   Worker worker(host.admission());
//   ... host.evaluate_waiting() between two steps ...
//   const Summary summary = host.finish();          // the worker has left
//
// Models are evaluated by the program's own function, on the program's own thread: it may use the
// model that is trained, and need not care about threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "record/summary.h"
#include "runtime/coordinator/coordinator.h"
#include "session/recorded_run.h"

namespace motley {

using EvaluateFunction = std::function<Evaluation(const Snapshot&)>;

class Host {
 public:
  // `evaluate` may be none. Throws Refused when the directory cannot be made, RunFailed when the
  // rendezvous cannot be opened.
  Host(const Job& job, std::int64_t training_samples, EvaluateFunction evaluate,
       const std::optional<std::string>& out, bool progress, Gathering gathering);
  // Gives up what is still under way.
  ~Host();

  // For the worker in this process, and for servers beside it.
  Admission admission(Rank rank) const;

  // Calls `evaluate` for the models that wait to be evaluated.
  void evaluate_waiting();
  // Evaluates until the run is over. Throws RunFailed.
  Summary finish();
  // The same for a run that fails: returns when everybody has been told.
  void give_up();

 private:
  // What the coordinator takes for the task: asks the program's thread.
  class ProgramTask;

  void conduct();

  std::unique_ptr<ProgramTask> evaluating_;
  RecordedRun recorded_;
  Coordinator coordinator_;
  std::optional<Summary> summary_;  // of the thread, until it has ended
  std::exception_ptr error_;        // likewise
  std::thread thread_;
};

}  // namespace motley
