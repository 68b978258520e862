// RunLogic: what a run decides, whether it is real or simulated: what to report, which models to
// evaluate, when to stop and why, and what the run came to. Pure: it knows no thread, socket or
// clock; it is told what happens, and answers.
//
//   RunLogic logic(rules_of(job, training_samples));
//   if (const auto report = logic.on_progress(seconds, samples, loss)) {
//   monitor.on_progress(*report); } if (auto whole = logic.on_snapshot(std::move(part))) { ...
//   evaluate it, then ...
//     monitor.on_metric(logic.on_evaluation(whole->note, evaluation));
//   }
//   if (logic.stopped()) { ... tell the workers ... }
//   RunEnd end = logic.finish(results, service, model);      // everybody is done
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

namespace motley {

// Why a run ends early when its accuracy is what was aimed at.
inline constexpr const char* kTargetReached = "target";
// What a run that was abandoned fails with.
inline constexpr const char* kAbandoned = "interrupted; the model was not saved";

struct RunRules {
  int workers = 1;
  std::int64_t batch = 1;
  std::int64_t limit = 0;  // samples in the whole run
  std::optional<double> target_accuracy;
};
RunRules rules_of(const Job& job, std::int64_t training_samples);

// The end of a run: what it came to, and the model that is still to be evaluated.
struct RunEnd {
  RunOutcome outcome;
  std::optional<SnapshotInfo> evaluate;
};

class RunLogic {
 public:
  explicit RunLogic(RunRules rules) : rules_(rules) {}

  // A worker has told where the run stands, and the losses since it last told. Returns what to
  // report; nullopt when as much was reported before. The loss of a report is the mean over what
  // all workers told since the report before.
  std::optional<RunProgress> on_progress(Seconds seconds, std::int64_t samples,
                                         const LossMeter& loss);

  // A worker has sent its part of a model. Returns the model to evaluate once all parts are there,
  // with the training loss since the evaluation before; nullopt also when a model at this point of
  // the run was evaluated already.
  std::optional<SnapshotInfo> on_snapshot(SnapshotInfo part);

  // What came of an evaluation. A model that reaches the target stops the run.
  Metric on_evaluation(const SnapshotNote& note, const Evaluation& evaluation);

  // Somebody wants the run to end early, in order. Returns whether that decides it: the first
  // reason counts, and none once everybody is done.
  bool stop(const std::string& reason);
  // Why the run ends before its limit.
  const std::optional<std::string>& stopped() const { return stopped_; }

  // Everybody is done: `results` of all workers by rank, then of all servers; `model` is the one
  // that the run leaves. It is evaluated as the model of the run's end. The figures of servers
  // stand behind those of the service.
  RunEnd finish(const std::vector<DoneInfo>& results, ServiceResult service, Snapshot model);

 private:
  bool is_evaluated(std::int64_t samples) const { return samples == evaluated_samples_; }
  SnapshotInfo to_evaluate(SnapshotInfo whole);

  const RunRules rules_;
  std::int64_t reported_samples_ = 0;
  LossMeter unreported_loss_;   // since the last report
  LossMeter unevaluated_loss_;  // since the last model that was evaluated
  SnapshotMerger merger_;
  std::optional<std::int64_t> evaluated_samples_;  // where the last model was taken
  std::optional<std::string> stopped_;
  bool is_over_ = false;
};

}  // namespace motley
