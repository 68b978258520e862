// FlatModel: a model's tensors as flat blocks.
//
// The parameters are windows onto one block of floats, their gradients onto a second, the float
// buffers onto a third. So an exchange reads and writes the model itself, and nothing is
// packed or unpacked. The tensors keep their identity: optimizers and whoever else holds them see
// the same numbers.
#pragma once

#include <torch/types.h>

#include <vector>

#include "compute/named_tensor.h"
#include "motley/sync/replica.h"

namespace motley {

class FlatModel {
 public:
  // Float tensors on the CPU, which get new storage.
  FlatModel(const NamedTensors& parameters, const NamedTensors& buffers);

  Block parameters() const;
  Block gradient() const;  // with room for Replica::kTail behind it
  Block tail() const;      // which is this
  Block buffers() const;
  const std::vector<TensorInfo>& tensors() const { return infos_; }  // as Replica::tensors()

  // All parameters, and all gradients without the tail, as one long tensor each.
  const torch::Tensor& all_parameters() const { return parameters_; }
  const torch::Tensor& all_gradients() const { return summands_; }

  void zero_gradients() { summands_.zero_(); }
  // Where somebody has given a parameter a gradient of its own (as zero_grad() may), its numbers
  // are taken over, and the window is put back. Without a gradient it is zero.
  void gather_gradients();

 private:
  std::vector<TensorInfo> infos_;
  std::vector<torch::Tensor> tensors_;    // the parameters
  std::vector<torch::Tensor> gradients_;  // windows onto summands_, one of each
  torch::Tensor parameters_;
  torch::Tensor gradient_;  // with its tail
  torch::Tensor summands_;  // gradient_ without its tail
  torch::Tensor buffers_;
};

}  // namespace motley
