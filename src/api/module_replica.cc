#include "api/module_replica.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "api/module_tensors.h"
#include "api/trained_tensors.h"
#include "base/check.h"
#include "compute/tensor_state.h"
#include "motley/base/failure.h"

namespace motley {
namespace {

NamedTensors joined(NamedTensors first, const NamedTensors& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// The names of a group's parameters. Frozen ones may belong to another module.
std::string describe(const torch::optim::OptimizerParamGroup& group, const NamedTensors& trained) {
  std::vector<std::string> names;
  for (const NamedTensor& each : trained) {
    if (std::ranges::any_of(group.params(),
                            [&](const auto& one) { return one.is_same(each.tensor); })) {
      names.push_back(each.name);
    }
  }
  return names.empty() ? "none"
                       : fmt::format("{} ({} to {})", names.size(), names.front(), names.back());
}

// Remembers which submodules are in train() and which in eval(), and restores that.
class Modes {
 public:
  explicit Modes(torch::nn::Module& module) {
    training_.emplace_back(&module, module.is_training());
    for (const auto& part : module.modules(/*include_self=*/false)) {
      training_.emplace_back(part.get(), part->is_training());
    }
  }
  ~Modes() {
    // From the outside in, because train() also applies to all submodules.
    for (const auto& [part, training] : training_) {
      if (part->is_training() != training) {
        part->train(training);
      }
    }
  }
  Modes(const Modes&) = delete;
  Modes& operator=(const Modes&) = delete;

 private:
  std::vector<std::pair<torch::nn::Module*, bool>> training_;
};

// Restores torch's default generator. When a model is evaluated depends on the time that things
// take, so what an evaluation draws must not change the numbers that training draws.
class SameRandomNumbers {
 public:
  SameRandomNumbers() : before_(at::detail::getDefaultCPUGenerator().get_state()) {}
  ~SameRandomNumbers() {
    at::Generator generator = at::detail::getDefaultCPUGenerator();
    generator.set_state(before_);
  }
  SameRandomNumbers(const SameRandomNumbers&) = delete;
  SameRandomNumbers& operator=(const SameRandomNumbers&) = delete;

 private:
  const torch::Tensor before_;
};

}  // namespace

ModuleReplica::ModuleReplica(torch::nn::Module& module, torch::optim::Optimizer& optimizer)
    : module_(module),
      optimizer_(optimizer),
      optimizer_state_(optimizer),
      optimizer_settings_(optimizer) {
  attach();
}

void ModuleReplica::attach() {
  const NamedTensors trained = trained_parameters(module_);
  const NamedTensors buffers = float_buffers(module_);
  check_optimizer(optimizer_, trained);
  in_blocks_ = joined(trained, buffers);
  model_.emplace(trained, buffers);
  gradients_.emplace(*model_);
  watch_.emplace(module_, optimizer_, trained);
  aside_ = torch::Tensor();
}

void ModuleReplica::begin_run() {
  attach();
  optimizer_settings_.begin_with_these();
}

void ModuleReplica::check() {
  if (const auto changed = watch_->changed_set()) {
    throw Refused(fmt::format(
        "{}, but a trainer trains the same parameters from its first begin() to its end: end it "
        "with stop(), and go on with a new trainer",
        *changed));
  }
  expect_in_place();
  if (const auto written = watch_->written()) {
    warnings_.once("written", fmt::format("the program has changed parameter {} between two steps. "
                                          "That is right only if every rank makes the same change. "
                                          "If it calls optimizer.step(): finish() does that",
                                          *written));
  }
}

void ModuleReplica::expect_in_place() {
  if (const auto moved = watch_->moved()) {
    throw Refused(fmt::format(
        "parameter {} was given other memory during the run, as by torch::load(), and motley "
        "cannot "
        "know whether it was on every rank: load before the first begin(), or end the run with "
        "stop() and go on with a new trainer; all ranks begin with what rank 0 has",
        *moved));
  }
  model_->gather_buffers();
}

void ModuleReplica::end_step() { watch_->note_numbers(); }

void ModuleReplica::clear() {
  gradients_->clear();
  watch_->note_numbers();
}

void ModuleReplica::gather() {
  expect_in_place();
  if (const auto written = watch_->written()) {
    throw Refused(fmt::format(
        "parameter {} was changed between begin() and finish(): finish() takes the optimizer's "
        "step, so remove optimizer.step(); make other changes after finish()",
        *written));
  }
  if (gradients_->gather()) {
    has_computed_ = true;
  } else if (!has_computed_) {
    throw Refused("no parameter has got a gradient: call loss.backward() before finish()");
  } else {
    warnings_.once("backward",
                   "no parameter has got a gradient in a step, which counts as a gradient of 0: is "
                   "loss.backward() missing?");
  }
}

double ModuleReplica::compute(std::span<const SampleIndex>) {
  MOTLEY_CHECK(false, "a program computes its gradients itself");
  return 0;
}

void ModuleReplica::take_gradients(double scale) {
  gather();
  pending_ = 1;
  scale_gradient(scale);
  if (std::exchange(has_put_aside_, false)) {
    multiply_gradients(std::exchange(pending_, 1));
    torch::Tensor gradients = model_->all_gradients();
    gradients.add_(aside_);
  }
}

void ModuleReplica::scale_gradient(double factor) {
  if (factor == 0) {
    gradients_->gather_nothing();
  }
  pending_ = factor == 0 ? 1 : pending_ * factor;
}

void ModuleReplica::put_aside(double scale) {
  gather();
  if (scale == 0) {
    gradients_->gather_nothing();
  }
  const torch::Tensor gradients = model_->all_gradients();
  if (!aside_.defined()) {
    aside_ = torch::empty_like(gradients);
  }
  if (std::exchange(has_put_aside_, true)) {
    aside_.add_(gradients, scale);
  } else {
    aside_.copy_(gradients).mul_(scale);  // a sum with zeros would lose the sign of a zero
  }
  clear();
}

void ModuleReplica::take_nothing() {
  gradients_->gather_nothing();
  pending_ = 1;
}

Block ModuleReplica::gradient() {
  multiply_gradients(std::exchange(pending_, 1));
  return model_->gradient();
}

void ModuleReplica::multiply_gradients(double factor) {
  if (static_cast<float>(factor) != 1) {
    torch::Tensor gradients = model_->all_gradients();
    gradients.mul_(factor);
  }
}

void ModuleReplica::apply(double scale) {
  gradients_->scatter();
  multiply_gradients(std::exchange(pending_, 1) * scale * step_factor_);
  if (before_step_) {
    before_step_();
  }
  optimizer_.step();
}

void ModuleReplica::set_learning_rate(double rate) {
  if (!std::isfinite(rate) || rate < 0) {
    throw std::invalid_argument(
        fmt::format("the learning rate {} makes no sense; expected a number from 0 up", rate));
  }
  for (auto& group : optimizer_.param_groups()) {
    group.options().set_lr(rate);
  }
}

// The other tensors are asked for every time: the module may have got new ones.
void ModuleReplica::state(Archive& archive) {
  Replica::state(archive);
  tensor_states(archive, kModelPart, without(tensors_of(module_), in_blocks_));
  archive("gradients", *gradients_);
  archive("optimizer", optimizer_state_);
  archive("optimizer_settings", optimizer_settings_);
  generator_state(archive);
  if (more_state_) {
    more_state_(archive);
  }
}

void ModuleReplica::common_state(Archive& archive) {
  NamedTensors others = without(tensors_of(module_), in_blocks_);
  std::erase_if(others, [](const auto& each) { return !can_be_saved(each.tensor); });
  tensor_states(archive, kModelPart, others);
  bool has_optimizer = archive.is_saving() && !optimizer_state_.saves_nothing();
  archive("has_optimizer", has_optimizer);
  if (has_optimizer) {
    archive("optimizer", optimizer_state_);
  } else if (archive.is_saving()) {
    warnings_.once("optimizer",
                   "every rank keeps its own state of the optimizer, because its save() writes "
                   "nothing: override save() and load(), and all ranks begin with rank 0's");
  }
}

std::string ModuleReplica::settings() {
  std::string text = fmt::format("optimizer {}\n", kind_of(optimizer_));
  const auto& groups = optimizer_.param_groups();
  for (std::size_t i = 0; i < groups.size(); ++i) {
    text += fmt::format("optimizer.group{}.parameters {}\n", i,
                        describe(groups[i], trained_parameters(module_)));
  }
  text += optimizer_settings_.text();
  for (const auto& item : module_.named_parameters()) {
    if (!item.value().requires_grad()) {
      text += fmt::format("{} {} frozen\n", item.key(), fmt::join(item.value().sizes(), "x"));
    }
  }
  return text;
}

void ModuleReplica::put(const Snapshot& numbers) {
  std::ranges::copy(numbers.parameters, parameters().floats().begin());
  std::ranges::copy(numbers.buffers, buffers().floats().begin());
}

void ModuleReplica::with(const Snapshot& snapshot, const std::function<void()>& body) {
  const Snapshot before = snapshot_of(*this);
  const Modes modes(module_);
  const SameRandomNumbers same;
  const torch::NoGradGuard no_grad;
  put(snapshot);
  module_.eval();
  try {
    body();
  } catch (...) {
    put(before);
    throw;
  }
  put(before);
}

}  // namespace motley
