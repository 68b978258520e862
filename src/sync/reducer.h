// Reducer: sums a block over all workers of a method with common steps.
//
// Methods with a common step need nothing else from the others. They do not depend on whether the
// sum uses a ring, direct messages in a codec, or servers.
#pragma once

#include <memory>

#include "motley/sync/strategy.h"

namespace motley {

class Reducer {
 public:
  virtual ~Reducer() = default;

  // Blocks until `block` holds the sum over all workers, with the same bits on each. Every worker
  // must call it with a block of the same size. The last Replica::kTail numbers are sent unencoded,
  // whatever the codec.
  virtual void sum(Block block) = 0;

  // True if there is nothing to sum: this is the only worker, and no codec changes numbers.
  virtual bool is_idle() const { return false; }

  // Call when there will be no more sums. Every worker must call it; it may wait for the others.
  virtual void leave() {}

  // What the codec has held back, if anything.
  virtual void state(Archive&) {}

  // Time in sum() spent waiting for workers that came late.
  virtual Seconds waited() const = 0;
};

// A reducer among the workers themselves, in the job's codec: motley/sync/collective.h without a
// codec, sync/coded_reducer.h with one.
std::unique_ptr<Reducer> make_reducer(const StrategyContext& context, Channel channel);

}  // namespace motley
