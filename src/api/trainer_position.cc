#include "api/trainer_position.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <optional>

namespace motley {

void TrainerPosition::advance(std::int64_t samples,
                              const std::function<void(std::int64_t)>& on_epoch) {
  standing_.samples = samples;
  while (standing_.epochs < samples / epoch_samples_) {
    ++standing_.epochs;
    on_epoch(standing_.epochs);
  }
}

Standing TrainerPosition::standing(std::int64_t batch) const {
  Standing standing = standing_after(standing_.samples, batch);
  standing.epochs = standing_.epochs;
  standing.own_steps = standing_.own_steps;
  standing.loss = standing_.loss;
  return standing;
}

Standing TrainerPosition::standing_after(std::int64_t samples, std::int64_t batch) const {
  const auto batches_in = [&](std::int64_t count) { return (count + batch - 1) / batch; };
  Standing standing;
  standing.samples = samples;
  standing.steps = samples / batch;
  standing.epochs = samples / epoch_samples_;
  standing.batches =
      standing.epochs * batches_in(epoch_samples_) + batches_in(samples % epoch_samples_);
  return standing;
}

void TrainerPosition::state(Archive& archive) {
  std::int64_t training_samples = training_samples_;
  archive("training_samples", training_samples);
  if (training_samples != training_samples_) {
    throw StateError(fmt::format("the data set has {} samples, but the state is of a run with {}",
                                 training_samples_, training_samples));
  }
  archive("samples", standing_.samples);
  archive("epochs", standing_.epochs);
  archive("own_steps", standing_.own_steps);
  std::optional<double> loss;
  if (std::isfinite(standing_.loss)) {
    loss = standing_.loss;
  }
  archive("loss", loss);
  standing_.loss = loss.value_or(std::numeric_limits<double>::quiet_NaN());
}

}  // namespace motley
