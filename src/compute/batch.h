// A batch of samples as tensors, in memory that is reused from step to step.
#pragma once

#include <torch/types.h>

#include <span>
#include <vector>

#include "compute/data/dataset.h"
#include "motley/base/ids.h"

namespace motley {

class Batch {
 public:
  // `shape` is that of one sample.
  explicit Batch(std::vector<std::int64_t> shape);

  // Fills the batch with these samples. Overwrites the tensors returned before.
  void gather(const SampleTable& samples, std::span<const SampleIndex> rows);

  const torch::Tensor& features() const { return features_; }  // [batch, ...shape] floats
  const torch::Tensor& labels() const { return labels_; }      // [batch] int64

 private:
  std::vector<std::int64_t> shape_;  // of the batch
  torch::Tensor feature_room_;       // sized for the largest batch so far
  torch::Tensor label_room_;
  torch::Tensor features_;
  torch::Tensor labels_;
};

}  // namespace motley
