// The coordinator of a real run: starts the workers or waits for them to come, brings them
// together, watches over them, evaluates what they send, stops them in order, and leaves none of
// those it started behind on any way out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/coordinator/cpu_quota.h"
#include "runtime/rendezvous/rendezvous.h"
#include "runtime/run/run.h"

namespace motley {

// Who takes part: processes that are started here, or that come by themselves.
struct Gathering {
  // The program that runs a worker or a server; "--join HOST:PORT --rank N" is added, and the token
  // is in its environment as kTokenVariable. None: all come by themselves.
  std::vector<std::string> worker_command = {};
  std::string job_text = {};    // the resolved job, handed to every worker
  CpuQuotas* quotas = nullptr;  // gives the workers their speeds; without it they are paced
  bool workers_come = false;    // only servers are started here

  // Where the rendezvous is; port 0: any.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  // What all must agree with (runtime/rendezvous/rendezvous.h). Without a token one is made up.
  // With a rank, the worker of that rank is in this process and needs no rendezvous.
  Peer host = {};
  Seconds patience = 60;  // for everybody to come
};

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
