// FlatModel: a model's tensors as flat blocks.
//
// The parameters are windows onto one block of floats, their gradients onto a second, the float
// buffers onto a third. So an exchange reads and writes the model directly, without packing. The
// tensors keep their identity: optimizers and other holders see the same numbers.
#pragma once

#include <torch/types.h>

#include <vector>

#include "compute/named_tensor.h"
#include "motley/sync/replica.h"

namespace motley {

// A parameter, and the place for its gradient in the block.
struct GradientWindow {
  torch::Tensor parameter;
  torch::Tensor window;
};

class FlatModel {
 public:
  // Float tensors on the CPU. They get new storage.
  FlatModel(const NamedTensors& parameters, const NamedTensors& buffers);

  Block parameters() const;
  Block gradient() const;  // including Replica::kTail
  Block tail() const;      // the last Replica::kTail of it
  Block buffers() const;
  const std::vector<TensorInfo>& tensors() const { return infos_; }  // as Replica::tensors()

  // All parameters, and all gradients without the tail, as one long tensor each.
  const torch::Tensor& all_parameters() const { return parameters_; }
  const torch::Tensor& all_gradients() const { return summands_; }

  void zero_gradients() { summands_.zero_(); }
  // If a parameter was given a new gradient tensor (zero_grad() may do that), copies its numbers
  // into the window and restores the window. A missing gradient counts as zero.
  void gather_gradients();
  // If a buffer was given new storage, copies its numbers into its window and restores the window.
  // Throws Refused if it has another shape or type.
  void gather_buffers();

  std::vector<GradientWindow> gradient_windows() const;

 private:
  std::vector<TensorInfo> infos_;
  std::vector<torch::Tensor> tensors_;    // the parameters
  std::vector<torch::Tensor> gradients_;  // one window onto summands_ per parameter
  torch::Tensor parameters_;
  torch::Tensor gradient_;  // with its tail
  torch::Tensor summands_;  // gradient_ without its tail
  std::vector<torch::Tensor> buffer_tensors_;
  torch::Tensor buffers_;
  std::vector<torch::Tensor> buffer_windows_;  // one window onto buffers_ per buffer
};

}  // namespace motley
