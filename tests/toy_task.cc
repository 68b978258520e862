#include "tests/toy_task.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/random.h"

namespace motley {

ToyData::ToyData(std::int64_t samples, std::size_t features, std::uint64_t seed)
    : width(features), inputs(static_cast<std::size_t>(samples) * features) {
  Random random(seed, 0x707);
  std::vector<float> truth(features);
  for (float& weight : truth) {
    weight = static_cast<float>(random.normal());
  }
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    float label = 0;
    for (std::size_t f = 0; f < width; ++f) {
      inputs[i * width + f] = static_cast<float>(random.normal());
      label += inputs[i * width + f] * truth[f];
    }
    labels.push_back(label);
  }
}

float ToyData::error(std::size_t sample, const float* weights) const {
  float output = 0;
  for (std::size_t f = 0; f < width; ++f) {
    output += inputs[sample * width + f] * weights[f];
  }
  return output - labels[sample];
}

ToyReplica::ToyReplica(std::shared_ptr<const ToyData> data, double lr, double momentum)
    : data_(std::move(data)),
      lr_(lr),
      momentum_(momentum),
      parameters_(data_->width, 0.1F),
      gradient_(data_->width + kTail, 0.0F),
      velocity_(data_->width, 0.0F) {}

double ToyReplica::compute(std::span<const SampleIndex> samples) {
  std::fill_n(gradient_.begin(), data_->width, 0.0F);
  double loss = 0;
  for (SampleIndex sample : samples) {
    const float error = data_->error(sample, parameters_.data());
    loss += 0.5 * error * error;
    for (std::size_t f = 0; f < data_->width; ++f) {
      gradient_[f] += error * data_->inputs[sample * data_->width + f];
    }
  }
  return loss;
}

void ToyReplica::apply(double scale) {
  for (std::size_t f = 0; f < data_->width; ++f) {
    velocity_[f] =
        static_cast<float>(momentum_) * velocity_[f] + static_cast<float>(scale) * gradient_[f];
    parameters_[f] -= static_cast<float>(lr_) * velocity_[f];
  }
}

ToyTask::ToyTask(std::int64_t samples, std::size_t features, std::uint64_t seed, double lr,
                 double momentum)
    : data_(std::make_shared<ToyData>(samples, features, seed)), lr_(lr), momentum_(momentum) {}

std::int64_t ToyTask::training_samples() const {
  return static_cast<std::int64_t>(data_->labels.size());
}

std::unique_ptr<Replica> ToyTask::make_replica() {
  return std::make_unique<ToyReplica>(data_, lr_, momentum_);
}

std::optional<Evaluation> ToyTask::evaluate(const Snapshot& snapshot) {
  Evaluation evaluation;
  for (std::size_t i = 0; i < data_->labels.size(); ++i) {
    const float error = data_->error(i, snapshot.parameters.data());
    evaluation.loss += 0.5 * error * error;
    evaluation.accuracy += std::abs(error) < 0.1F ? 1 : 0;
  }
  evaluation.loss /= static_cast<double>(data_->labels.size());
  evaluation.accuracy /= static_cast<double>(data_->labels.size());
  return evaluation;
}

std::string ToyTask::model_file(const Snapshot& snapshot) {
  std::string bytes(snapshot.parameters.size() * sizeof(float), '\0');
  std::memcpy(bytes.data(), snapshot.parameters.data(), bytes.size());
  return bytes;
}

}  // namespace motley
