#include "compute/optimizer_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <cstring>
#include <sstream>

namespace motley {
namespace {

namespace optim = torch::optim;

std::span<float> floats_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

// A tensor like the parameter, or none.
void tensor_state(Archive& archive, const std::string& name, torch::Tensor& tensor,
                  const torch::Tensor& parameter) {
  bool is_there = tensor.defined();
  archive("has_" + name, is_there);
  if (!is_there) {
    return;
  }
  tensor = archive.is_saving() ? tensor.contiguous() : torch::empty_like(parameter);
  archive.tensor(name, floats_of(tensor));
}

void fields(Archive& archive, optim::SGDParamState& state, const torch::Tensor& parameter) {
  tensor_state(archive, "momentum", state.momentum_buffer(), parameter);
}

template <class AdamState>
void fields_of_adam(Archive& archive, AdamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  tensor_state(archive, "exp_avg", state.exp_avg(), parameter);
  tensor_state(archive, "exp_avg_sq", state.exp_avg_sq(), parameter);
  tensor_state(archive, "max_exp_avg_sq", state.max_exp_avg_sq(), parameter);
}
void fields(Archive& archive, optim::AdamParamState& state, const torch::Tensor& parameter) {
  fields_of_adam(archive, state, parameter);
}
void fields(Archive& archive, optim::AdamWParamState& state, const torch::Tensor& parameter) {
  fields_of_adam(archive, state, parameter);
}

void fields(Archive& archive, optim::RMSpropParamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  tensor_state(archive, "square_avg", state.square_avg(), parameter);
  tensor_state(archive, "momentum", state.momentum_buffer(), parameter);
  tensor_state(archive, "grad_avg", state.grad_avg(), parameter);
}

void fields(Archive& archive, optim::AdagradParamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  tensor_state(archive, "sum", state.sum(), parameter);
}

// One parameter. torch makes its state in the first step, so it may not be there yet.
template <class ParamState>
class ParameterState {
 public:
  ParameterState(optim::Optimizer& optimizer, const torch::Tensor& parameter)
      : optimizer_(optimizer), parameter_(parameter) {}

  void state(Archive& archive) {
    const std::string key = c10::guts::to_string(parameter_.unsafeGetTensorImpl());
    const auto found = optimizer_.state().find(key);
    bool is_there = found != optimizer_.state().end();
    archive("is_there", is_there);
    if (!is_there) {
      optimizer_.state().erase(key);
      return;
    }
    if (!archive.is_saving()) {
      optimizer_.state()[key] = std::make_unique<ParamState>();
    }
    fields(archive, static_cast<ParamState&>(*optimizer_.state()[key]), parameter_);
  }

 private:
  optim::Optimizer& optimizer_;
  const torch::Tensor& parameter_;
};

template <class ParamState>
void all_parameters(Archive& archive, optim::Optimizer& optimizer) {
  int number = 0;
  for (optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      ParameterState<ParamState> state(optimizer, parameter);
      archive(std::to_string(number++), state);
    }
  }
}

void bytes_of_torch(Archive& archive, optim::Optimizer& optimizer) {
  std::vector<std::byte> bytes;
  if (archive.is_saving()) {
    std::ostringstream out;
    torch::serialize::OutputArchive torch_archive;
    optimizer.save(torch_archive);
    torch_archive.save_to(out);
    const std::string text = out.str();
    bytes.resize(text.size());
    std::memcpy(bytes.data(), text.data(), text.size());
  }
  archive.bytes("torch", bytes);
  if (!archive.is_saving()) {
    torch::serialize::InputArchive torch_archive;
    torch_archive.load_from(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    optimizer.load(torch_archive);
  }
}

}  // namespace

void optimizer_state(Archive& archive, optim::Optimizer& optimizer) {
  if (dynamic_cast<optim::SGD*>(&optimizer)) {
    all_parameters<optim::SGDParamState>(archive, optimizer);
  } else if (dynamic_cast<optim::Adam*>(&optimizer)) {
    all_parameters<optim::AdamParamState>(archive, optimizer);
  } else if (dynamic_cast<optim::AdamW*>(&optimizer)) {
    all_parameters<optim::AdamWParamState>(archive, optimizer);
  } else if (dynamic_cast<optim::RMSprop*>(&optimizer)) {
    all_parameters<optim::RMSpropParamState>(archive, optimizer);
  } else if (dynamic_cast<optim::Adagrad*>(&optimizer)) {
    all_parameters<optim::AdagradParamState>(archive, optimizer);
  } else {
    bytes_of_torch(archive, optimizer);
  }
}

void generator_state(Archive& archive) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  torch::Tensor tensor = generator.get_state();
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.numel()));
  std::memcpy(bytes.data(), tensor.data_ptr(), bytes.size());
  const std::size_t size = bytes.size();
  archive.bytes("torch_generator", bytes);
  if (archive.is_saving()) {
    return;
  }
  if (bytes.size() != size) {
    throw StateError("the state of torch's generator is of another version of torch");
  }
  std::memcpy(tensor.data_ptr(), bytes.data(), bytes.size());
  generator.set_state(tensor);
}

}  // namespace motley
