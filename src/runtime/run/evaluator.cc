#include "runtime/run/evaluator.h"

namespace motley {

std::optional<Metric> Evaluator::evaluate(const SnapshotNote& note, const Snapshot& snapshot) {
  if (note.samples == evaluated_samples_) {
    return std::nullopt;
  }
  const auto evaluation = task_.evaluate(snapshot);
  if (!evaluation) {
    return std::nullopt;
  }
  evaluated_samples_ = note.samples;
  const auto& target = job_.train.target_accuracy;
  target_reached_ = target_reached_ || (target && evaluation->accuracy >= *target);

  Metric metric;
  metric.seconds = note.seconds;
  metric.samples = note.samples;
  metric.step = (note.samples + job_.train.batch - 1) / job_.train.batch;
  metric.loss = evaluation->loss;
  metric.accuracy = evaluation->accuracy;
  metric.train_loss = note.loss.mean();
  return metric;
}

}  // namespace motley
