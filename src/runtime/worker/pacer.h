// Pacer: how long a paced worker sleeps after a step, so that computing takes as long as its cost
// says. Pure: durations in, durations out.
//
// The cost of a step is that of all a worker computes for it: the gradient, and what has no cost of
// its own (Node::busy(0)), as the optimizer's step and reports. The simulator says that the latter
// take no time; here they do, and the next step sleeps so much less. The same goes for a sleep that
// ended late. What one step has no room for stays late, and counts as missed: a pace that a machine
// cannot hold is not caught up with later, when others have waited for it already.
#pragma once

#include <cstdint>

#include "motley/base/ids.h"

namespace motley {

// How well the machine held the pace that busy() was asked for.
struct Pace {
  std::int64_t steps = 0;   // calls of busy() with a cost
  std::int64_t missed = 0;  // of them, those whose computing took over 5 % longer
};

class Pacer {
 public:
  // Time went by that was no step's: the next one has so much less left.
  void owe(Seconds seconds) { owed_ += seconds; }

  // A step of `cost` has computed for `took`: how long it has to sleep now.
  Seconds rest(Seconds cost, Seconds took);

  Pace pace() const { return pace_; }

 private:
  Seconds owed_ = 0;  // since the last step
  Pace pace_;
};

}  // namespace motley
