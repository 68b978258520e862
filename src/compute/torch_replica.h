// TorchReplica: a TorchModel trained through flat blocks (compute/flat_model.h).
//
// A sum over shares of a batch equals the sum over the batch, unless the network mixes samples:
// BatchNorm uses the statistics of each share, and of each micro-batch, separately.
#pragma once

#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <memory>
#include <span>

#include "compute/batch.h"
#include "compute/flat_model.h"
#include "compute/torch_model.h"
#include "loader/loader.h"
#include "motley/job/job.h"
#include "motley/sync/replica.h"

namespace motley {

class TorchReplica final : public Replica {
 public:
  TorchReplica(std::unique_ptr<TorchModel> network, std::shared_ptr<const Dataset> data,
               const TrainSpec& train);

  Block parameters() override;
  Block gradient() override;
  Block buffers() override;
  std::vector<TensorInfo> tensors() override { return model_.tensors(); }

  void set_micro_batch(std::size_t most) override;
  int reads_ahead() const override { return loader_spec_.workers > 0 ? loader_spec_.ahead : 0; }
  void expect(const std::vector<std::vector<SampleIndex>>& steps) override;
  // Throws std::runtime_error with one line if the network fails on this batch.
  double compute(std::span<const SampleIndex> samples) override;
  // Leaves gradient() multiplied by `scale`, and its tail unchanged.
  void apply(double scale) override;
  void state(Archive& archive) override;

 private:
  double accumulate(const Batch& batch);

  std::unique_ptr<TorchModel> network_;
  std::shared_ptr<const Dataset> data_;
  std::size_t micro_batch_ = kWholeShare;
  Batch batch_;
  FlatModel model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  const LoaderSpec loader_spec_;
  std::unique_ptr<Loader> loader_;  // null if nothing is read ahead
};

}  // namespace motley
