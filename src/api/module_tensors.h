// All tensors of a torch module.
#pragma once

#include <torch/nn/module.h>

#include "compute/named_tensor.h"

namespace motley {

// Parameters, then buffers. A tensor that modules share is there once under each of its names.
inline NamedTensors tensors_of(const torch::nn::Module& module) {
  NamedTensors all;
  for (const auto& item : module.named_parameters()) {
    all.push_back({item.key(), item.value()});
  }
  for (const auto& item : module.named_buffers()) {
    all.push_back({item.key(), item.value()});
  }
  return all;
}

}  // namespace motley
