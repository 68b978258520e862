#include "motley/sync/dealt_samples.h"

#include <algorithm>

#include "sync/allocator.h"

namespace motley {

// The first step is dealt out as every rank can work out for itself.
DealtSamples::DealtSamples(const StrategyContext& context, Evaluated evaluated)
    : context_(context), parts_(evaluated == Evaluated::kMean ? context.node.size() : 1) {
  samples_ = context.allocator.part_of(context.ledger.step_after(0));
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

// With fewer samples than workers some have no share of a common step; here they take one.
std::int64_t DealtSamples::want() const {
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
