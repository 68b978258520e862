// The coordinator of a real run: starts the workers or waits for them to join, tells them each
// other's addresses, watches for failures, evaluates the models they send, and stops them in order.
// The processes it started never outlive it.
#pragma once

#include <memory>
#include <string>

#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/coordinator/gathering.h"
#include "runtime/run/run.h"

namespace motley {

class Coordinator {
 public:
  // Opens the rendezvous. The references must outlive the coordinator. Throws RunFailed.
  Coordinator(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering);
  ~Coordinator();  // kills the processes it started

  Endpoint rendezvous() const;
  const std::string& token() const;  // needed to join at the rendezvous
  // With this, the worker in this process joins without the rendezvous. Servers in this process use
  // it with their own rank.
  Admission admission_of_host() const;

  // Runs the whole job. Throws RunFailed after telling all processes the reason. The processes that
  // it starts die with the calling thread.
  RunOutcome run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

inline RunOutcome train_with_processes(const Job& job, Task& task, RunMonitor& monitor,
                                       Gathering gathering) {
  return Coordinator(job, task, monitor, std::move(gathering)).run();
}

}  // namespace motley
