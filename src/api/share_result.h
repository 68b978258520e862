// ShareResult: adds up what a program says of the parts of its share of a step.
#pragma once

#include <optional>

#include "motley/sync/strategy.h"
#include "motley/trainer.h"

namespace motley {

class ShareResult {
 public:
  // Of the next part, which has this many samples, with what the program passed to finish().
  // Returns by what the gradient of the part is to be multiplied. Throws std::logic_error if it
  // does not fit the parts before or the reduction.
  double add(double loss, const FinishOptions& options, std::size_t samples, Reduction reduction);
  // Of all parts since the last call.
  StepResult take();

 private:
  StepResult sum_;
  bool has_parts_ = false;
};

}  // namespace motley
