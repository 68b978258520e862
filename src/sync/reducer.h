// Reducer: how workers that go from step to step together sum a block over all of them.
//
// Sum is all that all_reduce and local_sgd need of the others, so whether it goes round a ring,
// from each to each in some codec, or by way of servers is not their business.
#pragma once

#include <memory>

#include "motley/sync/strategy.h"

namespace motley {

class Reducer {
 public:
  virtual ~Reducer() = default;

  // Blocks until `block` holds the sum over all workers, on each the same bits. Every worker calls
  // it, with blocks of the same size. The last Replica::kTail numbers travel as they are, whatever
  // the codec.
  virtual void sum(Block block) = 0;

  // True when there is nothing to sum: this worker is the only one, and no codec changes numbers.
  virtual bool is_idle() const { return false; }

  // There will be no more sums. Every worker calls it, and may wait for the others.
  virtual void leave() {}

  // Time spent in sum() so far that was waiting for workers who came late.
  virtual Seconds waited() const = 0;
};

// Among the workers themselves, in the job's codec: motley/sync/collective.h without one,
// sync/coded_reducer.h with one.
std::unique_ptr<Reducer> make_reducer(const StrategyContext& context, Channel channel);

}  // namespace motley
