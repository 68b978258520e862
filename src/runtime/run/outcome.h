// What the processes of a run report when they are done, and the outcome of the run.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/run/run.h"

namespace motley {

// A worker's or a server's result.
struct DoneInfo {
  WorkerResult result;
  std::int64_t cluster_samples = 0;  // used by all workers, as far as this one knows
  std::int64_t bytes_sent = 0;
  std::int64_t paced_steps = 0;
  std::int64_t missed_steps = 0;
  Figures figures = {};  // of a server, for the summary
};

// A worker's figures so far.
WorkerFigures figures_of(const WorkerResult& result, std::int64_t bytes_sent);

// `results` has all workers by rank, then all servers. The run lasts until its last worker is done.
// Until then the others count as waiting, so compute, communicate and wait time of every worker add
// up to the run's time.
RunOutcome outcome_of(const std::vector<DoneInfo>& results, int workers);

}  // namespace motley
