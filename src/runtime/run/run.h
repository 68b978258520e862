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

}  // namespace motley
