#include "motley/sync/dealt_samples.h"

#include <algorithm>

#include "sync/allocator.h"

namespace motley {

// Every rank computes its own share of the first step, without asking the coordinator.
DealtSamples::DealtSamples(const StrategyContext& context, EvaluatedModel evaluated)
    : context_(context), parts_(evaluated == EvaluatedModel::kMean ? context.node.size() : 1) {
  samples_ = context.allocator.first_part_of(context.ledger.first_step());
}

void DealtSamples::begin() { context_.allocator.take_effect(); }

Work DealtSamples::work() {
  Work work;
  work.count = static_cast<std::size_t>(samples_.count);
  if (!phantom()) {
    work.samples = context_.ledger.samples(samples_);
  }
  return work;
}

// If a batch has fewer samples than there are workers, some shares are 0. Every worker requests at
// least one sample.
std::int64_t DealtSamples::want() const {
  if (context_.stop_requested()) {
    return kNoMore;
  }
  return static_cast<std::int64_t>(std::max<std::size_t>(context_.allocator.next_share(), 1));
}

Progress DealtSamples::take(const Grant& grant, const Computed& computed) {
  samples_ = grant.next;
  Progress progress;
  progress.samples = grant.used;
  if (grant.evaluation > 0) {
    progress.evaluate = Evaluate{grant.evaluation, parts_};
  }
  if (!phantom()) {
    progress.loss_sum = computed.loss_sum;
    progress.loss_samples = static_cast<std::int64_t>(computed.samples);
  }
  return progress;
}

}  // namespace motley
