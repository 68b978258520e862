// When a model is to be evaluated, by the samples that all workers have used. Pure.
#pragma once

#include <cstdint>

#include "motley/job/job.h"

namespace motley {

// Samples between two evaluations; 0: only at the end of the run. No step reaches beyond an epoch,
// so a multiple of epochs is met exactly by workers that take steps together.
inline std::int64_t samples_per_evaluation(const Job& job, std::int64_t training_samples) {
  return job.train.eval_every_epochs > 0 ? job.train.eval_every_epochs * training_samples
                                         : job.train.eval_every * job.train.batch;
}

// Whether a multiple of `every` samples was passed.
inline bool is_evaluation_due(std::int64_t every, std::int64_t before, std::int64_t now) {
  return every > 0 && now / every > before / every;
}

}  // namespace motley
