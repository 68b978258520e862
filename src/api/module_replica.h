// ModuleReplica: a program's own module and optimizer as a Replica. The program computes the
// gradients itself, in its own loop.
#pragma once

#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/module_gradients.h"
#include "api/module_watch.h"
#include "api/warnings.h"
#include "compute/flat_model.h"
#include "compute/optimizer_state.h"
#include "motley/sync/replica.h"
#include "motley/sync/task.h"

namespace motley {

class ModuleReplica final : public Replica {
 public:
  // Throws Refused for what cannot be trained: parameters that are not float32 on the CPU, or an
  // optimizer of other parameters.
  ModuleReplica(torch::nn::Module& module, torch::optim::Optimizer& optimizer);

  Block parameters() override { return model_->parameters(); }
  Block gradient() override;
  Block tail() override { return model_->tail(); }
  Block buffers() override { return model_->buffers(); }
  std::vector<TensorInfo> tensors() override { return model_->tensors(); }
  double compute(std::span<const SampleIndex> samples) override;  // done by the program: aborts
  void scale_gradient(double factor) override;
  int reads_ahead() const override { return ahead_; }
  void expect(const std::vector<std::vector<SampleIndex>>& steps) override { expect_(steps); }
  void apply(double scale) override;
  // All tensors of the module, the optimizer with its settings, torch's random generator, and what
  // set_more_state() adds. Call it between two steps. Tensors stay the same tensors.
  void state(Archive& archive) override;
  // The tensors that are not in the blocks, and what the optimizer remembers.
  void common_state(Archive& archive) override;

  // Called at the end of state().
  void set_more_state(std::function<void(Archive&)> hook) { more_state_ = std::move(hook); }
  // Call before training: `expect` is told what comes in so many steps after the current one.
  void set_read_ahead(int steps,
                      std::function<void(const std::vector<std::vector<SampleIndex>>&)> expect) {
    ahead_ = steps;
    expect_ = std::move(expect);
  }
  // True if a state was saved without the optimizer's, because its save() writes nothing.
  bool optimizer_is_lost() const { return optimizer_state_.is_lost(); }

  // Call once before the run begins, while blocks may still move: takes what the program has done
  // since: loaded tensors, other parameters to train, other settings of the optimizer.
  void begin_run();
  // Call between two steps. Throws Refused if the program has done something that only a new
  // trainer can take; warns of what is right only if all ranks do it.
  void check();
  // Call when the method is done with a step: what changes from now on, the program has changed.
  void end_step();

  // Call clear() before the program computes and take_gradients() afterwards: the gradient is then
  // `scale` times what the program left; nothing if it is 0, even if that was not a number. The
  // multiplication is delayed until the gradient is read:
  // with one worker nobody reads it, and the optimizer's step cancels it.
  // They throw Refused if the program has changed parameters meanwhile, or if nothing was computed
  // in the first step.
  void clear();
  void take_gradients(double scale);
  // For a share without samples, instead.
  void take_nothing();
  // Call after every part of a share but the last: keeps `scale` times what the program left, which
  // take_gradients() adds, and clears the gradients. They are kept apart, because the program may
  // clear them itself.
  void put_aside(double scale);

  // By what the next steps are multiplied in addition.
  void set_step_factor(double factor) { step_factor_ = factor; }
  // Sets the learning rate of every group of parameters.
  void set_learning_rate(double rate);

  // Called just before the optimizer's step.
  void set_before_step(std::function<void()> hook) { before_step_ = std::move(hook); }

  // What must be the same on every rank besides tensors(), a line each: the optimizer with its
  // settings, and the names and shapes of what is frozen.
  std::string settings();
  Warnings& warnings() { return warnings_; }

  // Runs `body` with these numbers in the module, in eval() mode and without gradients, and
  // restores everything afterwards.
  void with(const Snapshot& snapshot, const std::function<void()>& body);

 private:
  void attach();
  void expect_in_place();
  void gather();
  void multiply_gradients(double factor);
  void put(const Snapshot& numbers);

  torch::nn::Module& module_;
  torch::optim::Optimizer& optimizer_;
  NamedTensors in_blocks_;  // the tensors of model_
  std::optional<FlatModel> model_;
  std::optional<ModuleGradients> gradients_;
  std::optional<ModuleWatch> watch_;
  OptimizerState optimizer_state_;
  OptimizerSettings optimizer_settings_;
  double pending_ = 1;  // factor not yet applied to the gradients
  double step_factor_ = 1;
  torch::Tensor aside_;         // undefined until a share has parts
  bool has_put_aside_ = false;  // in this step
  bool has_computed_ = false;   // any gradient, in any step
  Warnings warnings_;
  std::function<void()> before_step_;
  std::function<void(Archive&)> more_state_;
  int ahead_ = 0;
  std::function<void(const std::vector<std::vector<SampleIndex>>&)> expect_;
};

}  // namespace motley
