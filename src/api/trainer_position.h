// TrainerPosition: how far a program's run is, and which epochs it was told of. Pure.
#pragma once

#include <cstdint>
#include <functional>

#include "motley/state/archive.h"
#include "motley/trainer.h"

namespace motley {

class TrainerPosition {
 public:
  explicit TrainerPosition(std::int64_t training_samples)
      : training_samples_(training_samples), epoch_samples_(training_samples) {}

  // Call before the rest: so many samples of the data set are used in an epoch.
  void set_epoch(std::int64_t samples) { epoch_samples_ = samples; }

  // The ranks together have used so many samples. Calls `on_epoch` for every epoch that is new, in
  // order.
  void advance(std::int64_t samples, const std::function<void(std::int64_t)>& on_epoch);
  void count_own_step() { ++standing_.own_steps; }

  Standing standing(std::int64_t batch) const;
  // Of a model that had seen so many samples: without what belongs to a step.
  Standing standing_after(std::int64_t samples, std::int64_t batch) const;
  // Of the last step; NaN if it is unknown.
  void set_loss(double loss) { standing_.loss = loss; }

  // Epochs that were announced before are not announced again. Refuses a state of a run with
  // another number of samples: what is left of its epoch would be of other data.
  void state(Archive& archive);

 private:
  const std::int64_t training_samples_;
  std::int64_t epoch_samples_;
  Standing standing_;  // but for steps, batches and counts
};

}  // namespace motley
