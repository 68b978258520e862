// The coordinator of a real run: starts the workers or waits for them to come, brings them
// together, watches over them, evaluates what they send, stops them in order, and leaves none of
// those it started behind on any way out.
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
  // Opens the rendezvous. The references outlive it. Throws RunFailed.
  Coordinator(const Job& job, Task& task, RunMonitor& monitor, Gathering gathering);
  ~Coordinator();  // of those it started none is left

  Endpoint rendezvous() const;
  const std::string& token() const;  // of the rendezvous
  // For the worker in this process; with another rank, for others in it. They need no rendezvous.
  Admission admission_of_host() const;

  // All of the run. Throws RunFailed; everybody has been told why then. The calling thread must
  // live until it returns.
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
