#include "runtime/run/run_logic.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "sync/refit.h"

namespace motley {

std::string deadlock_reason(const Job& job, const std::string& deadlock) {
  return fmt::format("the method \"{}\" cannot continue: {}", job.strategy.sync, deadlock);
}

RunRules rules_of(const Job& job, std::int64_t training_samples) {
  return {.workers = job.cluster.workers,
          .batch = job.train.batch,
          .limit = ledger_options(job, training_samples).limit,
          .target_accuracy = job.train.target_accuracy};
}

std::optional<RunProgress> RunLogic::on_progress(Seconds seconds, std::int64_t samples,
                                                 const LossMeter& loss) {
  unevaluated_loss_.add(loss);
  unreported_loss_.add(loss);
  const bool is_at_end = samples >= rules_.limit && samples > reported_samples_;
  if (samples < reported_samples_ + rules_.batch && !is_at_end) {
    return std::nullopt;
  }
  reported_samples_ = samples;
  return RunProgress{seconds, samples, rules_.limit, unreported_loss_.take().mean()};
}

std::optional<SnapshotInfo> RunLogic::on_snapshot(SnapshotInfo part) {
  auto whole = merger_.add(std::move(part));
  if (!whole || is_evaluated(whole->note.samples)) {
    return std::nullopt;
  }
  return to_evaluate(std::move(*whole));
}

SnapshotInfo RunLogic::to_evaluate(SnapshotInfo whole) {
  evaluated_samples_ = whole.note.samples;
  whole.note.loss = unevaluated_loss_.take();
  whole.snapshot.samples = whole.note.samples;
  return whole;
}

Metric RunLogic::on_evaluation(const SnapshotNote& note, const Evaluation& evaluation) {
  if (rules_.target_accuracy && evaluation.accuracy >= *rules_.target_accuracy) {
    stop(kTargetReached);
  }
  Metric metric;
  metric.seconds = note.seconds;
  metric.samples = note.samples;
  metric.step = (note.samples + rules_.batch - 1) / rules_.batch;
  metric.loss = evaluation.loss;
  metric.accuracy = evaluation.accuracy;
  metric.train_loss = note.loss.mean();
  for (const auto& [name, value] : evaluation.metrics) {
    metric.named.push_back({name, value});
  }
  return metric;
}

bool RunLogic::stop(const std::string& reason) {
  if (stopped_ || is_over_) {
    return false;
  }
  stopped_ = reason;
  return true;
}

void RunLogic::state(Archive& archive) {
  archive("reported_samples", reported_samples_);
  archive("unreported_loss", unreported_loss_);
  archive("unevaluated_loss", unevaluated_loss_);
  archive("evaluated_samples", evaluated_samples_);
  archive("former", former_);
  archive("counts", counts_);
}

void RunLogic::on_counts(const std::vector<double>& more) {
  counts_.resize(std::max(counts_.size(), more.size()));
  std::ranges::transform(more, counts_, counts_.begin(), std::plus());
}

void RunLogic::add_former(State& saved, const std::vector<WorkerSummary>& gone) {
  auto former = saved_value<std::vector<WorkerSummary>>(saved, "former");
  former.insert(former.end(), gone.begin(), gone.end());
  save_value(saved, "former", std::move(former));
}

RunEnd RunLogic::finish(const std::vector<DoneInfo>& results, ServiceResult service,
                        Snapshot model) {
  is_over_ = true;
  RunEnd end{outcome_of(results, rules_.workers), std::nullopt};
  end.outcome.stopped = stopped_;
  end.outcome.former_workers = former_;
  std::ranges::move(end.outcome.service.figures, std::back_inserter(service.figures));
  end.outcome.service = std::move(service);
  end.outcome.model = std::move(model);
  if (!is_evaluated(end.outcome.samples)) {
    const SnapshotNote note{end.outcome.seconds, end.outcome.samples, true, {}, {}};
    end.evaluate = to_evaluate({note, end.outcome.model});
  }
  return end;
}

}  // namespace motley
