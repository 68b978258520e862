// ModuleReplica: a program's own module and optimizer as a Replica. The program computes the
// gradients itself, in its own loop.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <string>

#include "compute/flat_model.h"
#include "motley/sync/replica.h"
#include "motley/sync/task.h"

namespace motley {

class ModuleReplica final : public Replica {
 public:
  // Throws Refused for what cannot be trained: parameters that are not float32 on the CPU, or an
  // optimizer of other parameters.
  ModuleReplica(torch::nn::Module& module, torch::optim::Optimizer& optimizer);

  Block parameters() override { return model_.parameters(); }
  Block gradient() override;
  Block tail() override { return model_.tail(); }
  Block buffers() override { return model_.buffers(); }
  std::vector<TensorInfo> tensors() override { return model_.tensors(); }
  double compute(std::span<const SampleIndex> samples) override;  // done by the program: aborts
  void apply(double scale) override;

  // Call clear() before the program computes and take_gradients() afterwards: the gradient is then
  // `scale` times what the program left. The multiplication is delayed until the gradient is read:
  // with one worker nobody reads it, and the optimizer's step cancels it.
  void clear() { model_.zero_gradients(); }
  void take_gradients(double scale);
  // Call after every part of a share but the last: keeps `scale` times what the program left, which
  // take_gradients() adds, and clears the gradients. They are kept apart, because the program may
  // clear them itself.
  void put_aside(double scale);

  // Called just before the optimizer's step.
  void set_before_step(std::function<void()> hook) { before_step_ = std::move(hook); }

  // What must be the same on every rank besides tensors(), a line each: the optimizer and what is
  // frozen.
  std::string settings() const;

  // Runs `body` with these numbers in the module, in eval() mode and without gradients, and
  // restores everything afterwards.
  void with(const Snapshot& snapshot, const std::function<void()>& body);

 private:
  void multiply_gradients(double factor);
  void put(const Snapshot& numbers);

  torch::nn::Module& module_;
  torch::optim::Optimizer& optimizer_;
  FlatModel model_;
  double pending_ = 1;          // factor not yet applied to the gradients
  torch::Tensor aside_;         // undefined until a share has parts
  bool has_put_aside_ = false;  // in this step
  std::function<void()> before_step_;
};

}  // namespace motley
