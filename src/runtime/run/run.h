// A run of a job, real or simulated, as its caller sees it: what is reported while it goes, and
// what it came to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/failure.h"
#include "motley/base/ids.h"
#include "motley/sync/task.h"
#include "record/run_record.h"
#include "record/summary.h"
#include "sync/loop.h"

namespace motley {

// Where a run stands.
struct RunProgress {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::int64_t limit = 0;      // samples in the whole run
  std::optional<double> loss;  // mean over the last samples known of
};

// Watches a run and may end it. Calls come one at a time, from the thread that called the run.
class RunMonitor {
 public:
  virtual ~RunMonitor() = default;
  // Training begins. While it goes `activity_of` may be called from the calls below, and tells what
  // a worker is at.
  virtual void on_begin(const std::function<Activity(Rank)>& /*activity_of*/) {}
  // What a worker did; of a server and of kCoordinator, their journals alone.
  virtual void on_news(Rank /*rank*/, const WorkerNews& /*news*/) {}
  virtual void on_progress(const RunProgress& progress) = 0;
  virtual void on_metric(const Metric& metric) = 0;
  // Asked often. A reason ("SIGINT") ends the run in order: the step under way is finished, the
  // model is kept.
  virtual std::optional<std::string> stop_requested() = 0;
  // Asked often: true abandons the run at once; it fails.
  virtual bool abandon_requested() = 0;
};

struct RunOutcome {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::vector<WorkerSummary> workers;
  std::vector<ServerSummary> servers;
  AllocationSummary allocation;
  ServiceResult service;
  Snapshot model;
  std::optional<std::int64_t> simulated_events;
  std::optional<std::string> stopped;  // why it ended before its limit: "target", "SIGINT", ...
};

// How far a worker is.
inline WorkerFigures figures_of(const WorkerResult& result, std::int64_t bytes_sent) {
  return {.compute = result.times.compute,
          .communicate = result.times.communicate,
          .wait = result.times.wait,
          .samples = result.samples,
          .steps = result.steps,
          .share = result.step_samples,
          .bytes_sent = bytes_sent};
}

// One worker's line of the summary.
inline WorkerSummary summary_of(Rank rank, const WorkerResult& result, std::int64_t bytes_sent) {
  WorkerSummary worker;
  worker.rank = rank;
  worker.samples = result.samples;
  worker.steps = result.steps;
  worker.compute_seconds = result.times.compute;
  worker.wait_seconds = result.times.wait;
  worker.communicate_seconds = result.times.communicate;
  worker.bytes_sent = bytes_sent;
  worker.share = result.allocation.share;
  if (const StepCost& cost = result.allocation.cost; cost.known()) {
    worker.samples_per_second = static_cast<double>(worker.share) / cost.of(worker.share);
    worker.overhead_seconds = cost.fixed_known ? std::optional(cost.fixed) : std::nullopt;
  }
  return worker;
}

inline AllocationSummary summary_of(const AllocationResult& allocation) {
  AllocationSummary summary;
  for (const ShareChange& change : allocation.history) {
    summary.history.push_back({change.step, change.decision.shares, change.decision.reason});
  }
  summary.last_look = allocation.last_look;
  return summary;
}

// The run lasts until its last worker is done: until then the others wait. After this the three
// parts of every worker's time add up to the run's.
inline void wait_for_the_last(RunOutcome& outcome) {
  for (WorkerSummary& worker : outcome.workers) {
    worker.wait_seconds = outcome.seconds - worker.compute_seconds - worker.communicate_seconds;
  }
}

}  // namespace motley
