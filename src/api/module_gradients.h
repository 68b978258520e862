// ModuleGradients: the gradients of a module's parameters in one flat block, as FlatModel has it.
//
// An optimizer of torch skips a parameter without gradient: it neither decays it nor moves it by
// momentum. A block of floats always has a number for it. So that all ranks agree on what to skip,
// without another message, the first number of a parameter without gradient is a negative zero: a
// sum is a negative zero only if all of its summands are. What does not keep the sign of a zero,
// such as the codec topk, makes it a gradient of zeros, on all ranks alike.
#pragma once

#include <cstdint>
#include <vector>

#include "compute/flat_model.h"
#include "motley/state/archive.h"

namespace motley {

class ModuleGradients {
 public:
  // From now on no parameter has a gradient. The model's blocks must outlive this.
  explicit ModuleGradients(FlatModel& model);

  // Call before the program computes: as zero_grad() of an optimizer of libtorch 1.13. What had a
  // gradient has zeros; what had none still has none.
  void clear();
  // Call afterwards: the block has what the program left. Returns whether anything was computed
  // since clear(). Throws Refused for a sparse gradient.
  bool gather();
  // The block of a rank that has nothing to compute.
  void gather_nothing();
  // Call before the optimizer's step: the parameters have the gradients that the block says.
  void scatter();

  // Which parameters have a gradient.
  void state(Archive& archive);

 private:
  FlatModel& model_;
  std::vector<GradientWindow> windows_;
  std::vector<std::int64_t> versions_;  // of the windows, after clear()
};

}  // namespace motley
