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
  float* input = inputs.data();
  for (std::int64_t i = 0; i < samples; ++i, input += features) {
    float label = 0;
    for (std::size_t f = 0; f < features; ++f) {
      const auto value = static_cast<float>(random.normal());
      input[f] = value;
      label += value * truth[f];
    }
    labels.push_back(label);
  }
}

// Loops over features use local variables only: ThreadSanitizer calls a function for every other
// access.
float ToyData::error(std::size_t sample, const float* weights) const {
  const std::size_t count = width;
  const float* input = inputs.data() + sample * count;
  float output = 0;
  for (std::size_t f = 0; f < count; ++f) {
    output += input[f] * weights[f];
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
  const std::size_t width = data_->width;
  float* gradient = gradient_.data();
  std::fill_n(gradient, width, 0.0F);
  double loss = 0;
  for (SampleIndex sample : samples) {
    const float error = data_->error(sample, parameters_.data());
    loss += 0.5 * error * error;
    const float* input = data_->inputs.data() + sample * width;
    for (std::size_t f = 0; f < width; ++f) {
      gradient[f] += error * input[f];
    }
  }
  return loss;
}

void ToyReplica::apply(double scale) {
  const auto momentum = static_cast<float>(momentum_);
  const auto share = static_cast<float>(scale);
  const auto lr = static_cast<float>(lr_);
  const float* gradient = gradient_.data();
  float* velocity = velocity_.data();
  float* parameters = parameters_.data();
  for (std::size_t f = 0, width = data_->width; f < width; ++f) {
    const float next = momentum * velocity[f] + share * gradient[f];
    velocity[f] = next;
    parameters[f] -= lr * next;
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
  Evaluation evaluation{.loss = 0, .accuracy = 0};
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
