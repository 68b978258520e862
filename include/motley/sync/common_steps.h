// CommonSteps: the steps that all workers of a method take together. Each step is the next batch of
// the run's samples (motley/allocate/ledger.h); every worker computes its share of it
// (sync/allocator.h).
//
//   while (auto work = steps.begin()) {
//     compute;
//     steps.tell(computed);               // written behind the gradient (Replica::kTail)
//     sum the gradient over all workers;
//     progress = steps.conclude();        // the summed results of all workers
//   }
//
// Every worker takes the same steps, so each knows how many samples have been used.
#pragma once

#include <optional>

#include "motley/sync/strategy.h"

namespace motley {

class CommonSteps {
 public:
  // Values that are summed together with the gradient (Replica::kTail).
  enum Tail : std::size_t { kLoss = 0, kStopVotes = 1 };

  explicit CommonSteps(const StrategyContext& context)
      : context_(context), used_(context.ledger.options().begin) {}

  // This worker's share of the next step; nullopt at the end of the term. Valid until the next
  // call.
  std::optional<Work> begin();
  // Writes this worker's loss and its vote to stop behind the gradient, to be summed with it, in
  // the method's part of the tail.
  void tell(const Computed& computed);
  // Call when the sum has arrived: the step is done. If any worker voted to stop, no step follows.
  Progress conclude();

  // Marks the current step as done, for a method that exchanges results in its own way.
  void finish() { used_ += step_.count; }

  // Samples of the current step, over all workers.
  std::int64_t count() const { return step_.count; }
  // By what the summed gradient is to be divided: the samples of the step, or the sum of the
  // weights that programs gave them. 0: the step has no weight, and there is none to take. Call
  // when the sum has arrived. Throws std::logic_error if only some workers gave weights.
  double weight() const;
  // Samples of all completed steps.
  std::int64_t used() const { return used_; }
  // True if no step follows the completed ones.
  bool over() const { return context_.ledger.step_after(used_).count == 0; }
  // For methods in which all workers hold the same model: whether rank 0's model is to be evaluated
  // now, that is, whether a multiple of `eval_every` steps, or of `eval_every_epochs`, was passed
  // since `before` samples.
  bool evaluation_due(std::int64_t before) const;

 private:
  // Tells a replica that reads ahead what this worker will compute next if the shares stay.
  void forecast() const;

  StrategyContext context_;
  StepSamples step_;
  std::int64_t used_;
  bool stop_ = false;     // this worker's vote
  bool stopped_ = false;  // the result of the vote
};

}  // namespace motley
