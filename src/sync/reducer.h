// Reducer: sums a block over all workers of a method with common steps.
//
// Methods with a common step need nothing else from the others. They do not depend on whether the
// sum uses a ring, direct messages in a codec, or servers.
#pragma once

#include <memory>
#include <vector>

#include "motley/sync/strategy.h"
#include "sync/refit.h"

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

  // The last sum is used: it will not be asked for again.
  virtual void conclude() {}

  // What the codec has held back, if anything; before conclude(), also what it held back before.
  virtual void state(Archive&) {}

  // Time in sum() spent waiting for workers that came late.
  virtual Seconds waited() const = 0;
};

// A reducer among the workers themselves, in the job's codec: motley/sync/collective.h without a
// codec, sync/coded_reducer.h with one.
std::unique_ptr<Reducer> make_reducer(const StrategyContext& context, Channel channel);
// The states of all workers' reducers, for other workers or another codec (sync/refit.h). What
// those who are gone held back is divided among those who stay. A single worker sends nothing, so
// what it held back is forgotten.
std::vector<State> fitted_reducers(const std::vector<State>& before, const Refit& refit);

}  // namespace motley
