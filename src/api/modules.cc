#include "motley/modules.h"

#include <fmt/format.h>

#include "compute/torch_error.h"
#include "motley/base/failure.h"

namespace motley {
namespace {

// One TorchScript module without its submodules: those are modules of their own, so that each keeps
// its own mode.
class ScriptedModule final : public torch::nn::Module {
 public:
  explicit ScriptedModule(const torch::jit::Module& script) : script_(script) {
    torch::nn::Module::train(script_.is_training());
    for (const auto& item : script_.named_parameters(/*recurse=*/false)) {
      register_parameter(item.name, item.value, item.value.requires_grad());
    }
    for (const auto& item : script_.named_buffers(/*recurse=*/false)) {
      register_buffer(item.name, item.value);
    }
    for (const auto& item : script_.named_children()) {
      register_module(item.name, std::make_shared<ScriptedModule>(item.value));
    }
  }

  void train(bool on) override {
    torch::nn::Module::train(on);
    if (script_.hasattr("training")) {
      script_.setattr("training", on);
    }
  }

 private:
  torch::jit::Module script_;
};

class TensorGroup final : public torch::nn::Module {
 public:
  void add_parameter(const std::string& name, const torch::Tensor& tensor) {
    if (!tensor.is_leaf()) {
      throw Refused(fmt::format(
          "parameter {} was computed from other tensors, which torch cannot train: detach() it",
          name));
    }
    with_group(name, [&](TensorGroup& group, const std::string& last) {
      group.register_parameter(last, tensor, tensor.requires_grad());
    });
  }
  void add_buffer(const std::string& name, const torch::Tensor& tensor) {
    with_group(name, [&](TensorGroup& group, const std::string& last) {
      group.register_buffer(last, tensor);
    });
  }

 private:
  // The group that a name belongs to, and what is left of the name.
  template <class Body>
  void with_group(const std::string& name, const Body& body) {
    const std::size_t dot = name.find('.');
    try {
      dot == std::string::npos ? body(*this, name)
                               : group(name.substr(0, dot)).with_group(name.substr(dot + 1), body);
    } catch (const c10::Error& error) {
      throw Refused(fmt::format("tensor {} cannot be named so: {}", name, short_reason(error)));
    }
  }

  TensorGroup& group(const std::string& name) {
    for (const auto& item : named_children()) {
      if (item.key() == name) {
        return static_cast<TensorGroup&>(*item.value());
      }
    }
    return *register_module(name, std::make_shared<TensorGroup>());
  }
};

}  // namespace

std::shared_ptr<torch::nn::Module> scripted(const torch::jit::Module& module) {
  return std::make_shared<ScriptedModule>(module);
}

std::shared_ptr<torch::nn::Module> tensors(const TensorList& parameters,
                                           const TensorList& buffers) {
  const auto all = std::make_shared<TensorGroup>();
  for (const auto& [name, tensor] : parameters) {
    all->add_parameter(name, tensor);
  }
  for (const auto& [name, tensor] : buffers) {
    all->add_buffer(name, tensor);
  }
  return all;
}

}  // namespace motley
