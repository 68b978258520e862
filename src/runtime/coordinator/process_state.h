// What a coordinator knows of each process of its run, and what came of all of them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <vector>

#include "runtime/run/control.h"
#include "runtime/run/run.h"

namespace motley {

// A worker, or a server behind them.
struct ProcessState {
  pid_t pid = 0;      // of a process that was started here
  Seconds heard = 0;  // when it last gave a sign of life
  std::optional<Endpoint> endpoint;
  bool failed = false;   // and has said so
  bool started = false;  // beats from now on
  bool ready = false;
  double quota = 0;   // cores' worth of time that it was given
  Activity activity;  // as it last told
  std::optional<DoneInfo> done;
};

// What all have told when they were done: workers first, then servers.
void add_results(RunOutcome& outcome, const std::vector<ProcessState>& processes, int workers);

}  // namespace motley
