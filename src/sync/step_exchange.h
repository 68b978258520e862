// StepExchange: what a step of one worker has computed besides its gradient, on its way to the
// other workers and back: weights, losses, numbers of the program.
//
//   computed = exchange.put(result, samples);      // before the method's finish()
//   progress = strategy.finish(computed);
//   exchange.take(progress, computed);             // after it
//
// Methods that sum their gradients exchange weights too (step_numbers.h), so that a step is exactly
// that of the weighted mean of the whole batch. In all others a worker takes its own step, which is
// that of the weighted mean over its own samples: its gradient is divided by its own weight, and
// counts as much as its samples.
#pragma once

#include <vector>

#include "motley/sync/strategy.h"
#include "sync/counted_replica.h"

namespace motley {

class StepExchange {
 public:
  StepExchange(CountedReplica& replica, Advance advance, int workers)
      : replica_(replica), advance_(advance), workers_(workers) {}

  // Throws std::logic_error if a number is invalid.
  Computed put(StepResult result, std::size_t samples, bool sums_weights);
  void take(Progress& progress, const Computed& computed);

 private:
  void divide_by_own_weight(StepResult& result, std::size_t samples);

  CountedReplica& replica_;
  const Advance advance_;
  const int workers_;
  std::vector<double> untold_;  // numbers of the program that are not exchanged yet
};

}  // namespace motley
