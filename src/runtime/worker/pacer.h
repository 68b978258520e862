// Pacer: how long a paced worker sleeps after a step, so that the step takes its cost. Pure.
//
// The cost of a step covers everything a worker computes for it: the gradient, and bodies without a
// cost of their own (Node::busy(0)) such as the optimizer's step and reports. The simulator charges
// no time for the latter; on a real machine they take time, so the next step sleeps that much less.
// Processing of numbers on their way (Node::process()) is not covered and takes time of its own.
// The same goes for a sleep that ended late. If that exceeds the next step, the rest stays late and
// the step counts as missed: lost time is not made up later, because other workers have already
// waited for it.
#pragma once

#include <cstdint>

#include "motley/base/ids.h"

namespace motley {

// How well the machine kept the pace that busy() asked for.
struct Pace {
  std::int64_t steps = 0;   // calls of busy() with a cost
  std::int64_t missed = 0;  // those that computed over 5 % longer than their cost
};

class Pacer {
 public:
  // Records time that belongs to no step; it shortens the next sleep.
  void owe(Seconds seconds) { owed_ += seconds; }

  // A step of `cost` computed for `took`: how long to sleep now.
  Seconds rest(Seconds cost, Seconds took);

  Pace pace() const { return pace_; }

 private:
  Seconds owed_ = 0;  // since the last step
  Pace pace_;
};

}  // namespace motley
