#include "api/trainer_position.h"

#include <fmt/format.h>

namespace motley {

void TrainerPosition::advance(std::int64_t samples,
                              const std::function<void(std::int64_t)>& on_epoch) {
  standing_.samples = samples;
  while (standing_.epochs < samples / training_samples_) {
    ++standing_.epochs;
    on_epoch(standing_.epochs);
  }
}

Standing TrainerPosition::standing(std::int64_t batch) const {
  Standing standing = standing_;
  standing.steps = standing.samples / batch;
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
}

}  // namespace motley
