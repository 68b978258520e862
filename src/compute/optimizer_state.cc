#include "compute/optimizer_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/lbfgs.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>
#include <torch/serialize.h>

#include <cstring>
#include <mutex>
#include <sstream>
#include <typeinfo>

#include "compute/lbfgs_state.h"
#include "compute/tensor_state.h"
#include "compute/torch_error.h"

namespace motley {
namespace {

namespace optim = torch::optim;

// A tensor like the parameter, or none.
void like_parameter(Archive& archive, const std::string& name, torch::Tensor& tensor,
                    const torch::Tensor& parameter) {
  bool is_there = tensor.defined();
  archive("has_" + name, is_there);
  if (!is_there) {
    tensor = torch::Tensor();
    return;
  }
  if (!archive.is_saving()) {
    tensor = torch::empty_like(parameter.detach());
  }
  tensor_state(archive, name, tensor);
}

void fields(Archive& archive, optim::SGDParamState& state, const torch::Tensor& parameter) {
  like_parameter(archive, "momentum", state.momentum_buffer(), parameter);
}

template <class AdamState>
void fields_of_adam(Archive& archive, AdamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  like_parameter(archive, "exp_avg", state.exp_avg(), parameter);
  like_parameter(archive, "exp_avg_sq", state.exp_avg_sq(), parameter);
  like_parameter(archive, "max_exp_avg_sq", state.max_exp_avg_sq(), parameter);
}
void fields(Archive& archive, optim::AdamParamState& state, const torch::Tensor& parameter) {
  fields_of_adam(archive, state, parameter);
}
void fields(Archive& archive, optim::AdamWParamState& state, const torch::Tensor& parameter) {
  fields_of_adam(archive, state, parameter);
}

void fields(Archive& archive, optim::RMSpropParamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  like_parameter(archive, "square_avg", state.square_avg(), parameter);
  like_parameter(archive, "momentum", state.momentum_buffer(), parameter);
  like_parameter(archive, "grad_avg", state.grad_avg(), parameter);
}

void fields(Archive& archive, optim::AdagradParamState& state, const torch::Tensor& parameter) {
  archive("step", state.step());
  like_parameter(archive, "sum", state.sum(), parameter);
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

std::vector<std::int64_t> sizes_of_groups(const optim::Optimizer& optimizer) {
  std::vector<std::int64_t> sizes;
  for (const optim::OptimizerParamGroup& group : optimizer.param_groups()) {
    sizes.push_back(static_cast<std::int64_t>(group.params().size()));
  }
  return sizes;
}

// The state must be of an optimizer like this one.
void expect_same(Archive& archive, const optim::Optimizer& optimizer) {
  const std::string kind = kind_of(optimizer);
  std::string saved_kind = kind;
  archive("kind", saved_kind);
  if (saved_kind != kind) {
    throw StateError(fmt::format("the optimizer is {}, but the state is of {}", kind, saved_kind));
  }
  const auto sizes = sizes_of_groups(optimizer);
  auto saved_sizes = sizes;
  archive("parameters", saved_sizes);
  if (saved_sizes != sizes) {
    throw StateError(fmt::format(
        "the optimizer has groups of [{}] parameters, but the state is of one with [{}]",
        fmt::join(sizes, ", "), fmt::join(saved_sizes, ", ")));
  }
}

std::string bytes_in(torch::serialize::OutputArchive& archive) {
  std::ostringstream out;
  archive.save_to(out);
  return std::move(out).str();
}

std::string saved_bytes(const optim::Optimizer& optimizer) {
  torch::serialize::OutputArchive archive;
  optimizer.save(archive);
  return bytes_in(archive);
}

// Of a class of torch, not of one derived from it.
bool is_of_torch(const optim::Optimizer& optimizer) {
  const std::type_info& type = typeid(optimizer);
  return type == typeid(optim::SGD) || type == typeid(optim::Adam) ||
         type == typeid(optim::AdamW) || type == typeid(optim::RMSprop) ||
         type == typeid(optim::Adagrad) || type == typeid(optim::LBFGS);
}

bool is_nothing(const std::string& bytes) {
  torch::serialize::OutputArchive nothing;
  return bytes.size() == bytes_in(nothing).size();
}

}  // namespace

std::string kind_of(const optim::Optimizer& optimizer) {
  return c10::demangle(typeid(optimizer).name());
}

void OptimizerState::state(Archive& archive) {
  expect_same(archive, optimizer_);
  const std::type_info& type = typeid(optimizer_);
  if (type == typeid(optim::SGD)) {
    all_parameters<optim::SGDParamState>(archive, optimizer_);
  } else if (type == typeid(optim::Adam)) {
    all_parameters<optim::AdamParamState>(archive, optimizer_);
  } else if (type == typeid(optim::AdamW)) {
    all_parameters<optim::AdamWParamState>(archive, optimizer_);
  } else if (type == typeid(optim::RMSprop)) {
    all_parameters<optim::RMSpropParamState>(archive, optimizer_);
  } else if (type == typeid(optim::Adagrad)) {
    all_parameters<optim::AdagradParamState>(archive, optimizer_);
  } else if (type == typeid(optim::LBFGS)) {
    lbfgs_state(archive, static_cast<optim::LBFGS&>(optimizer_));
  } else {
    bytes_of_torch(archive);
  }
}

bool OptimizerState::saves_nothing() const {
  const bool may_be = !optimizer_.state().empty() && !is_of_torch(optimizer_);
  return may_be && is_nothing(saved_bytes(optimizer_));
}

// save() and load() do nothing unless an optimizer overrides them.
void OptimizerState::bytes_of_torch(Archive& archive) {
  std::vector<std::byte> bytes;
  if (archive.is_saving()) {
    const std::string text = saved_bytes(optimizer_);
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    bytes.assign(begin, begin + text.size());
    is_lost_ = !optimizer_.state().empty() && is_nothing(text);
  }
  archive("is_lost", is_lost_);
  archive.bytes("torch", bytes);
  if (archive.is_saving()) {
    return;
  }
  if (is_lost_) {
    throw StateError(fmt::format("the optimizer {} is not in the state: its save() writes nothing",
                                 kind_of(optimizer_)));
  }
  optimizer_.state().clear();
  try {
    torch::serialize::InputArchive torch_archive;
    torch_archive.load_from(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    optimizer_.load(torch_archive);
  } catch (const std::exception& error) {
    throw StateError(fmt::format("the optimizer {} cannot load its state: {}", kind_of(optimizer_),
                                 short_reason(error)));
  }
}

void generator_state(Archive& archive) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard lock(generator.mutex());
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
