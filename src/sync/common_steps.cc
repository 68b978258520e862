#include "motley/sync/common_steps.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "sync/allocator.h"
#include "sync/evaluation_due.h"
#include "sync/step_numbers.h"

namespace motley {

std::optional<Work> CommonSteps::begin() {
  step_ = context_.ledger.step_after(used_);
  if (step_.count == 0 || stopped_) {
    return std::nullopt;
  }
  const StepSamples own = context_.allocator.part_of(step_);
  forecast();
  Work work;
  work.count = static_cast<std::size_t>(own.count);
  if (!context_.replica.gradient().phantom()) {
    work.samples = context_.ledger.samples(own);
  }
  return work;
}

// The term after this one probably goes on in the same way, so the end of a term is no end.
void CommonSteps::forecast() const {
  const int ahead = context_.replica.reads_ahead();
  if (ahead == 0) {
    return;
  }
  LedgerOptions options = context_.ledger.options();
  options.end = std::numeric_limits<std::int64_t>::max();
  Ledger ledger(options);
  std::vector<std::vector<SampleIndex>> steps;
  StepSamples step = step_;
  for (std::int64_t used = used_ + step.count; std::ssize(steps) < ahead; used += step.count) {
    step = ledger.step_after(used);
    if (step.count == 0) {
      break;
    }
    const auto samples = ledger.samples(context_.allocator.current_part_of(step));
    steps.emplace_back(samples.begin(), samples.end());
  }
  context_.replica.expect(steps);
}

void CommonSteps::tell(const Computed& computed) {
  stop_ = context_.stop_requested();
  const auto tail = context_.replica.tail().floats();
  if (!tail.empty()) {
    std::ranges::fill(tail.first(Replica::kMethodTail), 0.0F);
    tail[kLoss] = static_cast<float>(computed.loss_sum);
    tail[kStopVotes] = stop_ ? 1.0F : 0.0F;
  }
}

Progress CommonSteps::conclude() {
  finish();
  Progress progress;
  progress.samples = used_;
  if (evaluation_due(used_ - step_.count)) {
    progress.evaluate = Evaluate{};
  }
  const auto tail = context_.replica.tail().floats();
  stopped_ = tail.empty() ? stop_ : tail[kStopVotes] > 0;
  progress.is_summed = !tail.empty();
  const double all = weight();
  if (!tail.empty() && all > 0) {
    progress.loss_sum = tail[kLoss] * (static_cast<double>(step_.count) / all);
    progress.loss_samples = step_.count;
  }
  return progress;
}

double CommonSteps::weight() const {
  const auto tail = context_.replica.tail().floats();
  const auto samples = static_cast<double>(step_.count);
  return tail.empty() ? samples : StepNumbers(tail).weight().value_or(samples);
}

bool CommonSteps::evaluation_due(std::int64_t before) const {
  return context_.node.rank() == 0 &&
         is_evaluation_due(samples_per_evaluation(context_.job, context_.ledger.options().dataset),
                           before, used_);
}

}  // namespace motley
