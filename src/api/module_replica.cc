#include "api/module_replica.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "api/module_tensors.h"
#include "base/check.h"
#include "compute/tensor_state.h"
#include "motley/base/failure.h"

namespace motley {
namespace {

std::string type_of(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.dtype() << " on " << tensor.device();
  return text.str();
}

// The parameters to train. A parameter shared by two modules counts once.
NamedTensors trained_parameters(torch::nn::Module& module) {
  NamedTensors trained;
  std::set<const void*> seen;
  for (const auto& item : module.named_parameters()) {
    const torch::Tensor& tensor = item.value();
    if (!tensor.requires_grad() || !seen.insert(tensor.unsafeGetTensorImpl()).second) {
      continue;
    }
    if (tensor.scalar_type() != torch::kFloat || !tensor.device().is_cpu()) {
      throw Refused(
          fmt::format("parameter {} is {}; motley can train only float parameters on the CPU",
                      item.key(), type_of(tensor)));
    }
    trained.push_back({item.key(), tensor});
  }
  if (trained.empty()) {
    throw Refused("nothing to train: the module has no parameter with requires_grad");
  }
  return trained;
}

// Integer counters are left out: they cannot be averaged. A buffer shared by two modules counts
// once.
NamedTensors float_buffers(torch::nn::Module& module) {
  NamedTensors floats;
  for (const auto& item : module.named_buffers()) {
    if (item.value().scalar_type() == torch::kFloat && !holds(floats, item.value())) {
      floats.push_back({item.key(), item.value()});
    }
  }
  return floats;
}

NamedTensors joined(NamedTensors first, const NamedTensors& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void check_optimizer(const torch::optim::Optimizer& optimizer, const NamedTensors& trained) {
  std::set<const void*> known;
  for (const NamedTensor& each : trained) {
    known.insert(each.tensor.unsafeGetTensorImpl());
  }
  for (const auto& group : optimizer.param_groups()) {
    for (const torch::Tensor& tensor : group.params()) {
      if (tensor.requires_grad() && !known.contains(tensor.unsafeGetTensorImpl())) {
        throw Refused("the optimizer has a parameter that does not belong to the module");
      }
    }
  }
}

// A user-defined optimizer may not have one.
std::string learning_rate(const torch::optim::OptimizerParamGroup& group) {
  try {
    return fmt::format("{:g}", group.options().get_lr());
  } catch (const c10::Error&) {
    return "?";
  }
}

// "optimizer torch::optim::Adam with learning rate 0.01"; one rate per group.
std::string describe(const torch::optim::Optimizer& optimizer) {
  std::vector<std::string> rates;
  for (const auto& group : optimizer.param_groups()) {
    rates.push_back(learning_rate(group));
  }
  return fmt::format("optimizer {} with learning rate {}\n", kind_of(optimizer),
                     fmt::join(rates, ", "));
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

// Lets ranks detect that their frozen parameters differ.
std::string fingerprint(const torch::Tensor& tensor) {
  const torch::Tensor whole = tensor.detach().contiguous();
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  const auto* bytes = static_cast<const unsigned char*>(whole.data_ptr());
  for (std::size_t i = 0; i < whole.nbytes(); ++i) {
    hash = (hash ^ bytes[i]) * 1099511628211U;
  }
  return fmt::format("{:016x}", hash);
}

}  // namespace

ModuleReplica::ModuleReplica(torch::nn::Module& module, torch::optim::Optimizer& optimizer)
    : module_(module),
      optimizer_(optimizer),
      in_blocks_(joined(trained_parameters(module), float_buffers(module))),
      model_(trained_parameters(module), float_buffers(module)),
      optimizer_state_(optimizer),
      optimizer_settings_(optimizer) {
  check_optimizer(optimizer, trained_parameters(module));
}

double ModuleReplica::compute(std::span<const SampleIndex>) {
  MOTLEY_CHECK(false, "a program computes its gradients itself");
  return 0;
}

void ModuleReplica::take_gradients(double scale) {
  model_.gather_gradients();
  pending_ = scale;
  if (std::exchange(has_put_aside_, false)) {
    multiply_gradients(std::exchange(pending_, 1));
    torch::Tensor gradients = model_.all_gradients();
    gradients.add_(aside_);
  }
}

void ModuleReplica::put_aside(double scale) {
  model_.gather_gradients();
  const torch::Tensor gradients = model_.all_gradients();
  if (!aside_.defined()) {
    aside_ = torch::empty_like(gradients);
  }
  if (!std::exchange(has_put_aside_, true)) {
    aside_.zero_();
  }
  aside_.add_(gradients, scale);
  clear();
}

Block ModuleReplica::gradient() {
  multiply_gradients(std::exchange(pending_, 1));
  return model_.gradient();
}

void ModuleReplica::multiply_gradients(double factor) {
  if (static_cast<float>(factor) != 1) {
    torch::Tensor gradients = model_.all_gradients();
    gradients.mul_(factor);
  }
}

void ModuleReplica::apply(double scale) {
  multiply_gradients(std::exchange(pending_, 1) * scale);
  if (before_step_) {
    before_step_();
  }
  optimizer_.step();
}

// The other tensors are asked for every time: the module may have got new ones.
void ModuleReplica::state(Archive& archive) {
  Replica::state(archive);
  tensor_states(archive, kModelPart, without(tensors_of(module_), in_blocks_));
  archive("optimizer", optimizer_state_);
  archive("optimizer_settings", optimizer_settings_);
  generator_state(archive);
  if (more_state_) {
    more_state_(archive);
  }
}

std::string ModuleReplica::settings() const {
  std::string text = describe(optimizer_);
  for (const auto& item : module_.named_parameters()) {
    const torch::Tensor& tensor = item.value();
    if (!tensor.requires_grad()) {
      text += fmt::format("{} {} frozen {}\n", item.key(), fmt::join(tensor.sizes(), "x"),
                          fingerprint(tensor));
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
