// The steps that all workers of a method take together: each is a batch of the run's row of samples
// (motley/allocate/ledger.h), of which every worker computes its share (sync/allocator.h).
//
//   while (auto work = steps.begin()) {
//     compute;
//     steps.tell(computed);               // behind the gradient (Replica::kTail)
//     sum the gradient over all workers;
//     progress = steps.conclude();        // what all have told
//   }
//
// Every worker goes through the same steps, so all know how many samples have been used.
#pragma once

#include <optional>

#include "motley/sync/strategy.h"

namespace motley {

class CommonSteps {
 public:
  // What travels behind the numbers of a step (Replica::kTail).
  enum Tail : std::size_t { kLoss = 0, kStopVotes = 1 };

  explicit CommonSteps(const StrategyContext& context) : context_(context) {}

  // This worker's share of the next step; nullopt at the end of the run. Valid until the next call.
  std::optional<Work> begin();
  // This worker's loss, and whether it should stop, go where they are summed with the gradient.
  void tell(const Computed& computed);
  // The sum is there, and the step is done. When anybody was to stop, it was the last one.
  Progress conclude();

  // The step that began last is done, for a method that tells in its own way.
  void finish() { used_ += step_.count; }

  // Samples of the step that began last, by all workers.
  std::int64_t count() const { return step_.count; }
  // Samples of all steps that are done.
  std::int64_t used() const { return used_; }
  // No step follows those that are done.
  bool over() const { return context_.ledger.step_after(used_).count == 0; }
  // Where all workers hold the same model, rank 0 has it judged every `eval_every` steps of
  // samples: whether that many were passed since `before` had been used.
  bool evaluation_due(std::int64_t before) const;

 private:
  StrategyContext context_;
  StepSamples step_;
  std::int64_t used_ = 0;
  bool stop_ = false;     // what this worker told
  bool stopped_ = false;  // what all agreed on
};

}  // namespace motley
