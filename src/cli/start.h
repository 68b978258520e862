// Where a command begins: with a job, or with a checkpoint of an earlier run (--resume).
#pragma once

#include <memory>

#include "base/error.h"
#include "cli/commands.h"
#include "motley/job/job.h"
#include "motley/sync/task.h"
#include "session/resume_point.h"

namespace motley {

struct Start {
  Job job;
  std::shared_ptr<const ResumePoint> from;  // null: at the beginning
};

// "train" or "simulate".
const char* name_of(Mode mode);

// The job of the flags, or that of the checkpoint if they name none; and the checkpoint. Fails if
// the run cannot go on with this job.
Result<Start> start_of(const RunFlags& flags, Mode mode);

// Tries to restore the state into a simulation, so that a state that does not fit is refused before
// anything is written.
Status check_simulation(const Start& start, Task& task);

}  // namespace motley
