// A run on a virtual clock, in this process: the same loop, strategies and models as a real run.
#pragma once

#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/run/run.h"

namespace motley {

// Throws RunFailed. Deterministic: the outcome depends on the job alone.
RunOutcome simulate(const Job& job, Task& task, RunMonitor& monitor);

}  // namespace motley
