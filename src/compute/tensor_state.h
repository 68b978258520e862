// Tensors of torch, of any type and on any device, through an Archive.
#pragma once

#include <string>

#include "compute/named_tensor.h"
#include "motley/state/archive.h"

namespace motley {

// Saves the numbers, or copies saved ones into the tensor, which stays the same tensor. The State
// has four types of elements. The others are saved as a wider one: no bit is lost.
void tensor_state(Archive& archive, const std::string& name, torch::Tensor tensor);

// False for types that have no place in a State, such as complex numbers.
bool can_be_saved(const torch::Tensor& tensor);

// Each under its name, with `prefix` before it.
void tensor_states(Archive& archive, const std::string& prefix, const NamedTensors& tensors);

}  // namespace motley
