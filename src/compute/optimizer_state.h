// What a torch optimizer remembers between two steps (momenta, counters), its settings, and torch's
// random numbers, through an Archive.
#pragma once

#include <torch/optim/optimizer.h>

#include <string>
#include <vector>

#include "motley/state/archive.h"

namespace motley {

// What the optimizer remembers. Tensors of the common optimizers are stored by name. Other
// optimizers, also those derived from a common one, are stored as the bytes that their save()
// writes. Restoring refuses the state of another kind of optimizer. The optimizer must outlive
// this.
class OptimizerState {
 public:
  explicit OptimizerState(torch::optim::Optimizer& optimizer) : optimizer_(optimizer) {}

  void state(Archive& archive);

  // True if it was saved although its save() writes nothing: it cannot be restored.
  bool is_lost() const { return is_lost_; }
  // Whether it would be.
  bool saves_nothing() const;

 private:
  void bytes_of_torch(Archive& archive);

  torch::optim::Optimizer& optimizer_;
  bool is_lost_ = false;
};

// The settings of an optimizer that the program owns: learning rates, momenta. Schedules change
// them, so they are saved and restored. But if the program now begins with another value than it
// began with when the state was saved, then its new value counts. The optimizer must outlive this.
class OptimizerSettings {
 public:
  // The settings are now what the program begins with.
  explicit OptimizerSettings(torch::optim::Optimizer& optimizer);

  // The same at a later time: the program has changed them.
  void begin_with_these();

  // A line for each: "optimizer.group0.lr 0.01". Of options that a program has defined only what
  // torch knows: the learning rate.
  std::string text();

  void state(Archive& archive);

 private:
  using Values = std::vector<double>;

  torch::optim::Optimizer& optimizer_;
  std::vector<Values> at_start_;  // of each group
};

// Of torch's default generator on the CPU, which dropout uses.
void generator_state(Archive& archive);

// "torch::optim::SGD"
std::string kind_of(const torch::optim::Optimizer& optimizer);

}  // namespace motley
