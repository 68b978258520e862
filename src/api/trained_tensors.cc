#include "api/trained_tensors.h"

#include <fmt/format.h>
#include <torch/optim/lbfgs.h>

#include <set>
#include <sstream>

#include "motley/base/failure.h"

namespace motley {
namespace {

std::string type_of(const torch::Tensor& tensor) {
  std::ostringstream text;
  text << tensor.dtype() << " on " << tensor.device();
  return text.str();
}

}  // namespace

NamedTensors trained_parameters(const torch::nn::Module& module) {
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

NamedTensors float_buffers(const torch::nn::Module& module) {
  NamedTensors floats;
  for (const auto& item : module.named_buffers()) {
    if (item.value().scalar_type() == torch::kFloat && !holds(floats, item.value())) {
      floats.push_back({item.key(), item.value()});
    }
  }
  return floats;
}

void check_optimizer(const torch::optim::Optimizer& optimizer, const NamedTensors& trained) {
  if (dynamic_cast<const torch::optim::LBFGS*>(&optimizer)) {
    throw Refused(
        "the optimizer LBFGS computes the loss several times in a step, through a closure; motley "
        "can use only optimizers that step without one, such as SGD or Adam");
  }
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

}  // namespace motley
