#include "compute/torch_replica.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.h"
#include "compute/torch_error.h"

namespace motley {
namespace {

// Views onto parts of `block`, one after the other, of the shapes of `tensors`.
std::vector<torch::Tensor> views_like(const std::vector<torch::Tensor>& tensors,
                                      const torch::Tensor& block) {
  std::vector<torch::Tensor> views;
  std::int64_t at = 0;
  for (const torch::Tensor& tensor : tensors) {
    views.push_back(block.narrow(0, at, tensor.numel()).view(tensor.sizes()));
    at += tensor.numel();
  }
  return views;
}

// A new block that holds the tensors' numbers, and from now on their storage.
torch::Tensor flatten(const std::vector<torch::Tensor>& tensors) {
  std::int64_t size = 0;
  for (const torch::Tensor& tensor : tensors) {
    size += tensor.numel();
  }
  const torch::Tensor block = torch::empty({size});
  const auto views = views_like(tensors, block);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    views[i].copy_(tensors[i].detach());
    tensors[i].set_data(views[i]);
  }
  return block;
}

Block block_of(const torch::Tensor& tensor) {
  if (tensor.numel() == 0) {
    return {};
  }
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainSpec& train,
                                                        const torch::Tensor& parameter) {
  const std::vector<torch::Tensor> parameters{parameter};
  if (train.optimizer == "adam") {
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(train.lr).weight_decay(train.weight_decay));
  }
  MOTLEY_CHECK(train.optimizer == "sgd", "optimizer {}", train.optimizer);
  return std::make_unique<torch::optim::SGD>(
      parameters,
      torch::optim::SGDOptions(train.lr).momentum(train.momentum).weight_decay(train.weight_decay));
}

}  // namespace

TorchReplica::TorchReplica(std::unique_ptr<Network> network, std::shared_ptr<const Dataset> data,
                           const TrainSpec& train)
    : network_(std::move(network)),
      data_(std::move(data)),
      micro_batch_(static_cast<std::size_t>(
          train.micro_batch.value_or(std::numeric_limits<std::int64_t>::max()))),
      batch_(data_->shape) {
  network_->set_training(true);
  tensors_ = network_->parameters();
  parameters_ = flatten(tensors_);
  buffers_ = flatten(network_->buffers());
  gradient_ = torch::zeros({parameters_.numel() + static_cast<std::int64_t>(kTail)});
  summands_ = gradient_.narrow(0, 0, parameters_.numel());
  const auto gradients = views_like(tensors_, gradient_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    // A defined gradient of the right shape is accumulated into, not replaced.
    tensors_[i].mutable_grad() = gradients[i];
  }
  parameters_.mutable_grad() = summands_;
  optimizer_ = make_optimizer(train, parameters_);
  for (const torch::Tensor& block : {parameters_, gradient_}) {
    MOTLEY_CHECK(reinterpret_cast<std::uintptr_t>(block.data_ptr()) % 64 == 0,
                 "torch no longer aligns tensors to 64 bytes");
  }
}

Block TorchReplica::parameters() { return block_of(parameters_); }
Block TorchReplica::gradient() { return block_of(gradient_); }
Block TorchReplica::buffers() { return block_of(buffers_); }

double TorchReplica::compute(std::span<const SampleIndex> samples) {
  summands_.zero_();
  double loss = 0;
  while (!samples.empty()) {
    const auto micro_batch = samples.first(std::min(samples.size(), micro_batch_));
    loss += accumulate(micro_batch);
    samples = samples.subspan(micro_batch.size());
  }
  return loss;
}

// Backward adds to the gradients that are there.
double TorchReplica::accumulate(std::span<const SampleIndex> micro_batch) {
  batch_.gather(data_->training, micro_batch);
  return with_short_errors("the model failed in training", [&] {
    const torch::Tensor loss = summed_loss(network_->forward(batch_.features()), batch_.labels());
    loss.backward();
    check_views();
    return loss.item<double>();
  });
}

void TorchReplica::apply(double scale) {
  if (scale != 1) {
    summands_.mul_(scale);
  }
  optimizer_->step();
}

void TorchReplica::check_views() const {
  const float* expected = summands_.data_ptr<float>();
  for (const torch::Tensor& tensor : tensors_) {
    MOTLEY_CHECK(tensor.grad().data_ptr<float>() == expected, "torch replaced a gradient");
    expected += tensor.numel();
  }
}

}  // namespace motley
