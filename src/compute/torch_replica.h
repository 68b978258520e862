// TorchReplica: a Network trained through flat blocks.
//
// The network's parameters are views onto one block of floats, their gradients views onto a second,
// its float buffers views onto a third. So an exchange reads and writes the model itself, nothing
// is packed or unpacked, and the optimizer sees one long parameter: the same arithmetic as one
// tensor at a time, in a few long loops.
//
// A sum over shares of a batch equals the sum over the batch, except where the network looks across
// samples: BatchNorm uses the statistics of each share, and of each micro-batch, on its own.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <memory>
#include <span>
#include <vector>

#include "compute/batch.h"
#include "compute/network.h"
#include "job/job.h"
#include "sync/replica.h"

namespace motley {

class TorchReplica final : public Replica {
 public:
  TorchReplica(std::unique_ptr<Network> network, std::shared_ptr<const Dataset> data,
               const TrainSpec& train);

  Block parameters() override;
  Block gradient() override;
  Block buffers() override;

  // Throws std::runtime_error, one line, when the network fails on this batch.
  double compute(std::span<const SampleIndex> samples) override;
  // Leaves gradient() multiplied by `scale`; its tail untouched.
  void apply(double scale) override;

 private:
  double accumulate(std::span<const SampleIndex> micro_batch);
  void check_views() const;

  std::unique_ptr<Network> network_;
  std::shared_ptr<const Dataset> data_;
  const std::size_t micro_batch_;
  Batch batch_;
  std::vector<torch::Tensor> tensors_;  // the network's parameters
  torch::Tensor parameters_;
  torch::Tensor gradient_;  // with its tail
  torch::Tensor summands_;  // gradient_ without its tail
  torch::Tensor buffers_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace motley
