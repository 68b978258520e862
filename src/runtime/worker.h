// A worker process: joins a coordinator, loads the job it is given, trains, reports, leaves. So
// does a server, which holds parameters instead of training.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "fabric/fabric.h"
#include "job/job.h"
#include "sync/task.h"

namespace motley {

struct WorkerOptions {
  Rank rank = 0;
  Endpoint coordinator;
  std::string token;
};

struct LoadedJob {
  Job job;
  std::shared_ptr<Task> task;  // none for a server: it needs neither data nor model
};
// What this rank needs, from the text of a resolved job file.
using JobLoader = std::function<Result<LoadedJob>(const std::string& text, Rank rank)>;

// Returns the exit code of the process. Whatever goes wrong is told to the coordinator.
int run_worker(const WorkerOptions& options, const JobLoader& load);

}  // namespace motley
