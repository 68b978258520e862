// Host: runs the coordinator of a program's run on a thread of rank 0's process.
//
//   Host host(job, training_samples, evaluate, {.out = out}, gathering);
//   Worker worker(host.admission(0));
//   ... host.evaluate_waiting() between two steps ...
//   const Summary summary = host.finish();          // the worker has left
//
// Models are evaluated by the program's own function on the program's own thread, so that function
// may use the model being trained and needs no locks.
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
  // If `evaluate` is empty, nothing is evaluated. Throws Refused if the run directory cannot be
  // created, RunFailed if the rendezvous cannot be opened.
  Host(const Job& job, std::int64_t training_samples, EvaluateFunction evaluate, RunView view,
       Gathering gathering);
  // Aborts the run if it is not over.
  ~Host();

  // With this, a worker or a server in this process joins without the rendezvous.
  Admission admission(Rank rank) const;

  // Evaluates the models that are waiting, if any.
  void evaluate_waiting();
  // Evaluates until the run is over. Throws RunFailed.
  Summary finish();
  // Called instead of finish() if the run fails: returns when all ranks have been told.
  void give_up();

 private:
  // The coordinator's Task: has models evaluated on the program's thread.
  class ProgramTask;

  void conduct();

  std::unique_ptr<ProgramTask> evaluating_;
  RecordedRun recorded_;
  Coordinator coordinator_;
  std::optional<Summary> summary_;  // set by thread_; read once it has been joined
  std::exception_ptr error_;        // likewise
  std::thread thread_;
};

}  // namespace motley
