#include "compute/tensor_state.h"

#include <fmt/format.h>

#include <optional>

namespace motley {
namespace {

std::optional<torch::ScalarType> wider_type(torch::ScalarType type) {
  switch (type) {
    case torch::kFloat:
    case torch::kHalf:
    case torch::kBFloat16:
      return torch::kFloat;
    case torch::kDouble:
      return torch::kDouble;
    case torch::kByte:
    case torch::kBool:
      return torch::kByte;
    case torch::kChar:
    case torch::kShort:
    case torch::kInt:
    case torch::kLong:
      return torch::kLong;
    default:
      return std::nullopt;
  }
}

torch::ScalarType stored_as(const std::string& name, torch::ScalarType type) {
  const auto stored = wider_type(type);
  return stored ? *stored
                : throw StateError(fmt::format("the tensor {} is {}, which cannot be saved", name,
                                               c10::toString(type)));
}

template <class T>
void numbers(Archive& archive, const std::string& name, const torch::Tensor& tensor) {
  archive.tensor(name, std::span(tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())),
                 tensor.sizes());
}

}  // namespace

void tensor_state(Archive& archive, const std::string& name, torch::Tensor tensor) {
  const torch::NoGradGuard no_grad;
  const torch::ScalarType type = stored_as(name, tensor.scalar_type());
  const torch::Tensor stored = archive.is_saving()
                                   ? tensor.detach().to(torch::kCPU, type).contiguous()
                                   : torch::empty(tensor.sizes(), type);
  if (type == torch::kFloat) {
    numbers<float>(archive, name, stored);
  } else if (type == torch::kDouble) {
    numbers<double>(archive, name, stored);
  } else if (type == torch::kLong) {
    numbers<std::int64_t>(archive, name, stored);
  } else {
    numbers<std::uint8_t>(archive, name, stored);
  }
  if (!archive.is_saving()) {
    tensor.copy_(stored);
  }
}

bool can_be_saved(const torch::Tensor& tensor) {
  return wider_type(tensor.scalar_type()).has_value();
}

void tensor_states(Archive& archive, const std::string& prefix, const NamedTensors& tensors) {
  for (const NamedTensor& each : tensors) {
    tensor_state(archive, prefix + each.name, each.tensor);
  }
}

}  // namespace motley
