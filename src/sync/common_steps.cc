#include "sync/common_steps.h"

namespace motley {

std::optional<Work> CommonSteps::begin() {
  step_ = context_.ledger.step_after(used_);
  if (step_.count == 0) {
    return std::nullopt;
  }
  const StepSamples own = context_.allocator.part_of(step_);
  Work work;
  work.count = static_cast<std::size_t>(own.count);
  if (!context_.replica.gradient().phantom()) {
    work.samples = context_.ledger.samples(own);
  }
  return work;
}

bool CommonSteps::evaluation_due(std::int64_t before) const {
  const std::int64_t every = context_.job.train.eval_every * context_.job.train.batch;
  return context_.node.rank() == 0 && every > 0 && used_ / every > before / every;
}

}  // namespace motley
