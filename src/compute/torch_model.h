// TorchModel: the interface of built-in and TorchScript models. Includes torch.
#pragma once

#include <torch/types.h>

#include <functional>
#include <memory>
#include <ostream>

#include "compute/named_tensor.h"
#include "motley/sync/task.h"

namespace motley {

class TorchModel {
 public:
  virtual ~TorchModel() = default;

  // Logits [batch, classes] of a batch of samples.
  virtual torch::Tensor forward(const torch::Tensor& batch) = 0;
  // Switches between training (dropout, batch statistics) and evaluation.
  virtual void set_training(bool on) = 0;

  // Handles of the trained parameters, in a fixed order; shared ones are listed once.
  virtual NamedTensors parameters() = 0;
  // Handles of the float state that is not trained (BatchNorm statistics), in the same way. Integer
  // counters are left out: they cannot be averaged.
  virtual NamedTensors buffers() = 0;
  // Handles of all other tensors, which belong to the state of a replica: frozen parameters,
  // counters. They are of this moment: a TorchScript module may replace its counters in forward().
  virtual NamedTensors others() = 0;

  // Writes what torch.jit.load reads. The same numbers give the same bytes.
  virtual void save(std::ostream& out) = 0;
};

// Makes the same network in its initial state, every time.
using TorchModelMaker = std::function<std::unique_ptr<TorchModel>()>;

// The loss of every model: cross-entropy, summed over the batch.
torch::Tensor summed_loss(const torch::Tensor& logits, const torch::Tensor& labels);

// Copies a snapshot's numbers into the network's own tensors.
void load_snapshot(TorchModel& network, const Snapshot& snapshot);

}  // namespace motley
