// A run of a job, real or simulated, as its caller sees it: reports during the run, and its
// outcome.
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
#include "state/state.h"
#include "sync/loop.h"

namespace motley {

// The progress of a run.
struct RunProgress {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::int64_t limit = 0;      // samples in the whole run
  std::optional<double> loss;  // mean over the samples reported last
};

// Watches a run and may end it. It is called on the thread that runs the run, one call at a time.
class RunMonitor {
 public:
  virtual ~RunMonitor() = default;
  // Training begins. `activity_of` says what the worker with this id is doing, and for whose place
  // it waits; until training ends, it may be called from within the calls below.
  virtual void on_begin(const std::function<Activity(int)>& /*activity_of*/) {}
  // Everybody who was there until now: before the first term begins, and whenever that changes.
  virtual void on_members(std::vector<MemberRecord> /*members*/) {}
  virtual void on_term(TermRecord /*term*/) {}
  // What a worker did. For a server and kCoordinator, `news` has only journal entries. Exchanges
  // name the sender's place.
  virtual void on_news(RecordPlace /*place*/, const WorkerNews& /*news*/) {}
  // For people: who comes and goes, and why.
  virtual void on_notice(const std::string& /*line*/) {}
  // The same, but trouble that somebody may have to end.
  virtual void on_warning(const std::string& /*line*/) {}
  virtual void on_progress(const RunProgress& progress) = 0;
  virtual void on_metric(const Metric& metric) = 0;
  // Whether on_checkpoint() is to be called. Otherwise no state is sent to the coordinator.
  virtual bool wants_checkpoints() { return false; }
  // A checkpoint: the state of the run after so many samples. In a real run, the states of all
  // workers arrive while training goes on, so this comes some time after the end of the term.
  virtual void on_checkpoint(std::int64_t /*samples*/, State /*state*/) {}
  // A real run is about to fail: the newest model that arrived to be evaluated, and the samples
  // that it has seen. Not called if none has arrived.
  virtual void on_last_model(std::int64_t /*samples*/, const Snapshot& /*model*/) {}
  // Called often. If it returns a reason ("SIGINT"), the run ends in order: the current step is
  // finished and the model is kept.
  virtual std::optional<std::string> stop_requested() = 0;
  // Called often. If it returns true, the run fails at once.
  virtual bool abandon_requested() = 0;
};

struct RunOutcome {
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::vector<WorkerSummary> workers;
  std::vector<WorkerSummary> former_workers;  // of earlier terms, who are gone
  int terms = 1;
  std::vector<MemberRecord> members;  // everybody who was there
  Losses losses;
  // The rate of those who were there at full speed, if workers came or went and are paced.
  std::optional<double> ideal_samples_per_second;
  std::vector<ServerSummary> servers;
  AllocationSummary allocation;
  ServiceResult service;
  Snapshot model;
  std::optional<std::int64_t> simulated_events;
  std::optional<std::string> stopped;  // why it ended before its limit: "target", "SIGINT", ...
};

}  // namespace motley
