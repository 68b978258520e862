// What the processes of a run tell when they are done, and what the run came to.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/run/run.h"

namespace motley {

// A worker's or a server's result.
struct DoneInfo {
  WorkerResult result;
  std::int64_t cluster_samples = 0;  // used by all workers, as far as it knows
  std::int64_t bytes_sent = 0;
  std::int64_t paced_steps = 0;
  std::int64_t missed_steps = 0;
  Figures figures = {};  // a server's, for the summary
};

// How far a worker is.
WorkerFigures figures_of(const WorkerResult& result, std::int64_t bytes_sent);

// Of all workers by rank, then of all servers. The run lasts until its last worker is done; until
// then the others wait, so the three parts of every worker's time add up to the run's.
RunOutcome outcome_of(const std::vector<DoneInfo>& results, int workers);

}  // namespace motley
