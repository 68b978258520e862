// With which processes a command runs a job: its own, or workers that join (--listen).
#pragma once

#include "base/error.h"
#include "cli/commands.h"
#include "motley/job/job.h"
#include "runtime/coordinator/coordinator.h"

namespace motley {

// Which processes take part in a run of this job, and where they join.
Result<Gathering> gathering_for(const ListenFlags& flags, const Job& job);

// With --listen: prints the command to run on the other machines. A token taken from the
// environment is not printed, because whoever set it knows it.
void invite(const ListenFlags& flags, const Job& job, const Coordinator& coordinator);

}  // namespace motley
