// A tensor of a model, and what the model calls it.
#pragma once

#include <torch/types.h>

#include <string>
#include <vector>

namespace motley {

struct NamedTensor {
  std::string name;  // "fc1.weight"
  torch::Tensor tensor;
};

using NamedTensors = std::vector<NamedTensor>;

inline bool holds(const NamedTensors& tensors, const torch::Tensor& tensor) {
  for (const NamedTensor& each : tensors) {
    if (each.tensor.is_same(tensor)) {
      return true;
    }
  }
  return false;
}

// Those of `all` that are not among `known`, each tensor once.
inline NamedTensors without(const NamedTensors& all, const NamedTensors& known) {
  NamedTensors others;
  for (const NamedTensor& each : all) {
    if (!holds(known, each.tensor) && !holds(others, each.tensor)) {
      others.push_back(each);
    }
  }
  return others;
}

}  // namespace motley
