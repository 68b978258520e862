// RunLogic: the decisions of a run, real or simulated: what to report, which models to evaluate,
// when to stop and why, and the outcome. Pure: it uses no thread, socket or clock; it is told what
// happens, and returns what to do.
//
//   RunLogic logic(rules_of(job, training_samples));
//   if (const auto report = logic.on_progress(seconds, samples, loss)) {
//     monitor.on_progress(*report);
//   }
//   if (auto whole = logic.on_snapshot(std::move(part))) {
//     ... evaluate *whole ...
//     monitor.on_metric(logic.on_evaluation(whole->note, evaluation));
//   }
//   if (logic.stopped()) { ... tell the workers ... }
//   RunEnd end = logic.finish(results, service, model);      // all are done
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "runtime/run/outcome.h"
#include "runtime/run/run.h"
#include "runtime/run/snapshot_info.h"
#include "runtime/run/snapshot_merger.h"
#include "state/state.h"

namespace motley {

// The reason for which a run ends early when it reaches its target accuracy.
inline constexpr const char* kTargetReached = "target";
// The error message of a run that was abandoned.
inline constexpr const char* kAbandoned = "interrupted; the final model was not saved";
// The error message of a run that can never end: a deadlock is a mistake of its method.
std::string deadlock_reason(const Job& job, const std::string& deadlock);

struct RunRules {
  int workers = 1;
  std::int64_t batch = 1;
  std::int64_t limit = 0;  // samples in the whole run
  std::optional<double> target_accuracy;
};
RunRules rules_of(const Job& job, std::int64_t training_samples);

// The end of a run: its outcome, and the final model if it is still to be evaluated.
struct RunEnd {
  RunOutcome outcome;
  std::optional<SnapshotInfo> evaluate;
};

class RunLogic {
 public:
  explicit RunLogic(RunRules rules) : rules_(rules) {}

  // A worker has reported the progress of the run, and its losses since its last report. Returns
  // what to pass on to the monitor: once for every batch of samples, and at the run's limit. The
  // loss passed on is the mean over all workers' losses since the last time.
  std::optional<RunProgress> on_progress(Seconds seconds, std::int64_t samples,
                                         const LossMeter& loss);

  // A worker at its own pace has counted this since its last report (StepResult::counts).
  void on_counts(const std::vector<double>& more);
  // The same of all workers, over the whole run.
  const std::vector<double>& counts() const { return counts_; }

  // A worker has sent its part of a model. When all parts have arrived, returns the model to
  // evaluate, with the training loss since the last evaluation. Returns nullopt if parts are
  // missing, or if a model at this point of the run was already evaluated.
  std::optional<SnapshotInfo> on_snapshot(SnapshotInfo part);

  // From now on there are so many workers.
  void set_workers(int workers) { rules_.workers = workers; }

  // The result of an evaluation. A model that reaches the target stops the run.
  Metric on_evaluation(const SnapshotNote& note, const Evaluation& evaluation);

  // Samples used by the run, as last reported.
  std::int64_t samples() const { return reported_samples_; }
  std::int64_t limit() const { return rules_.limit; }

  // Requests an early, orderly end. Returns whether this request stops the run: the first reason
  // counts, and none does after finish().
  bool stop(const std::string& reason);
  // Why the run ends before its limit, if it does.
  const std::optional<std::string>& stopped() const { return stopped_; }

  // The term is over for all workers. Models to evaluate of which parts are missing are forgotten.
  void end_term() { merger_ = {}; }
  // True if the run is over after so many samples; otherwise another term follows.
  bool is_over_after(std::int64_t samples) const { return stopped_ || samples >= rules_.limit; }
  // Of a run between two terms. Why it was stopped is not part of it: a run that comes back goes
  // on.
  void state(Archive& archive);
  // Adds the totals of workers that are gone to a saved state. They stay in the outcome.
  static void add_former(State& saved, const std::vector<WorkerSummary>& gone);

  // All are done. `results` has all workers by rank, then all servers; `model` is the final model,
  // which is evaluated unless the last evaluation was at the same point of the run. In the outcome,
  // the figures of the servers follow those of the service.
  RunEnd finish(const std::vector<DoneInfo>& results, ServiceResult service, Snapshot model);

 private:
  bool is_evaluated(std::int64_t samples) const { return samples == evaluated_samples_; }
  SnapshotInfo to_evaluate(SnapshotInfo whole);

  RunRules rules_;
  std::int64_t reported_samples_ = 0;
  std::vector<double> counts_;
  LossMeter unreported_loss_;   // since the last report
  LossMeter unevaluated_loss_;  // since the last model to evaluate
  SnapshotMerger merger_;
  std::optional<std::int64_t> evaluated_samples_;  // samples at the last model to evaluate
  std::vector<WorkerSummary> former_;              // workers of earlier terms that are gone
  std::optional<std::string> stopped_;
  bool is_over_ = false;
};

}  // namespace motley
