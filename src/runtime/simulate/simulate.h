// A run on a virtual clock, in this process: the same loop, strategies and models as a real run.
#pragma once

#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "runtime/run/run.h"

namespace motley {

// Version of the model of machines and links. It rises when the same job takes another time than
// before; docs/simulator.md says what changed. Figures of different versions cannot be compared.
inline constexpr int kSimulatorVersion = 2;

// Throws RunFailed. Deterministic: the outcome depends on the job alone. With `from`, a state that
// the monitor was given at a checkpoint, the run goes on from there; throws StateError if the state
// does not fit the job.
RunOutcome simulate(const Job& job, Task& task, RunMonitor& monitor, const State* from = nullptr);

}  // namespace motley
