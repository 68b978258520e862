#include "compute/torch_replica.h"

#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>

#include <utility>

#include "base/check.h"
#include "compute/optimizer_state.h"
#include "compute/tensor_state.h"
#include "compute/torch_error.h"
#include "job/choices.h"

namespace motley {
namespace {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const TrainSpec& train,
                                                        const torch::Tensor& parameter) {
  const std::vector<torch::Tensor> parameters{parameter};
  if (train.optimizer == OptimizerKind::kAdam) {
    return std::make_unique<torch::optim::Adam>(
        parameters, torch::optim::AdamOptions(train.lr).weight_decay(train.weight_decay));
  }
  MOTLEY_CHECK(train.optimizer == OptimizerKind::kSgd, "optimizer {}", name_of(train.optimizer));
  return std::make_unique<torch::optim::SGD>(
      parameters,
      torch::optim::SGDOptions(train.lr).momentum(train.momentum).weight_decay(train.weight_decay));
}

}  // namespace

TorchReplica::TorchReplica(std::unique_ptr<TorchModel> network, std::shared_ptr<const Dataset> data,
                           const TrainSpec& train)
    : network_(std::move(network)),
      data_(std::move(data)),
      batch_(data_->shape),
      model_(network_->parameters(), network_->buffers()),
      loader_spec_(train.loader) {
  network_->set_training(true);
  // One long parameter: the same arithmetic as one tensor at a time, in a few long loops.
  torch::Tensor all = model_.all_parameters();
  all.mutable_grad() = model_.all_gradients();
  optimizer_ = make_optimizer(train, all);
}

Block TorchReplica::parameters() { return model_.parameters(); }
Block TorchReplica::gradient() { return model_.gradient(); }
Block TorchReplica::buffers() { return model_.buffers(); }

// Called before each term, when nothing is expected yet.
void TorchReplica::set_micro_batch(std::size_t most) {
  micro_batch_ = most;
  loader_.reset();
  if (loader_spec_.workers > 0) {
    const auto gathered = [data = data_](std::span<const SampleIndex> samples) {
      auto batch = std::make_shared<Batch>(data->shape);
      batch->gather(data->training, samples);
      return batch;
    };
    loader_ =
        std::make_unique<Loader>(BatchSource{.whole = gathered}, loader_spec_.workers,
                                 [most](std::size_t share) { return part_count(share, most); });
  }
}

void TorchReplica::expect(const std::vector<std::vector<SampleIndex>>& steps) {
  loader_->expect(steps);
}

double TorchReplica::compute(std::span<const SampleIndex> samples) {
  model_.zero_gradients();
  double loss = 0;
  if (loader_) {
    loader_->begin(samples);
  }
  while (!samples.empty()) {
    const auto part = next_part(samples, micro_batch_);
    if (loader_) {
      loss += accumulate(*std::static_pointer_cast<Batch>(loader_->take()));
    } else {
      batch_.gather(data_->training, part);
      loss += accumulate(batch_);
    }
  }
  model_.gather_gradients();
  return loss;
}

// backward() adds to the existing gradients.
double TorchReplica::accumulate(const Batch& batch) {
  return with_short_errors("the model failed in training", [&] {
    const torch::Tensor loss = summed_loss(network_->forward(batch.features()), batch.labels());
    loss.backward();
    return loss.item<double>();
  });
}

void TorchReplica::apply(double scale) {
  if (scale != 1) {
    torch::Tensor gradients = model_.all_gradients();
    gradients.mul_(scale);
  }
  optimizer_->step();
}

void TorchReplica::state(Archive& archive) {
  Replica::state(archive);
  tensor_states(archive, kModelPart, network_->others());
  // The job has its settings.
  OptimizerState optimizer(*optimizer_);
  archive("optimizer", optimizer);
  generator_state(archive);
}

}  // namespace motley
