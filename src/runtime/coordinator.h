// The coordinator of a real run: starts the workers, brings them together, watches over them,
// evaluates what they send, stops them in order, and leaves none behind on any way out.
#pragma once

#include <string>
#include <vector>

#include "job/job.h"
#include "runtime/cpu_quota.h"
#include "runtime/run.h"
#include "sync/task.h"

namespace motley {

struct LaunchOptions {
  // The program that runs a worker; "--join HOST:PORT --rank N" is added, and the token is in its
  // environment as kTokenVariable.
  std::vector<std::string> worker_command;
  std::string job_text;         // the resolved job, handed to every worker
  CpuQuotas* quotas = nullptr;  // gives the workers their speeds; without it they are paced
};

inline constexpr const char* kTokenVariable = "MOTLEY_TOKEN";

// Runs the job with worker processes on this machine. Throws RunFailed; all workers are gone then.
// The calling thread must live until it returns.
RunOutcome train_with_processes(const Job& job, Task& task, RunMonitor& monitor,
                                const LaunchOptions& launch);

}  // namespace motley
