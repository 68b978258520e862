// A task small enough to check by hand: linear regression with SGD, no torch. The answer is
// known, so training it to the end proves the path from samples to applied steps.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "sync/task.h"

namespace motley {

struct ToyData {
  ToyData(std::int64_t samples, std::size_t features, std::uint64_t seed)
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

  float error(std::size_t sample, const float* weights) const {
    float output = 0;
    for (std::size_t f = 0; f < width; ++f) {
      output += inputs[sample * width + f] * weights[f];
    }
    return output - labels[sample];
  }

  std::size_t width;
  std::vector<float> inputs;
  std::vector<float> labels;
};

class ToyReplica final : public Replica {
 public:
  ToyReplica(std::shared_ptr<const ToyData> data, double lr, double momentum = 0)
      : data_(std::move(data)),
        lr_(lr),
        momentum_(momentum),
        parameters_(data_->width, 0.1F),
        gradient_(data_->width + kTail, 0.0F),
        velocity_(data_->width, 0.0F) {}

  Block parameters() override { return {parameters_.data(), parameters_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {}; }

  double compute(std::span<const SampleIndex> samples) override {
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

  void apply(double scale) override {
    for (std::size_t f = 0; f < data_->width; ++f) {
      velocity_[f] =
          static_cast<float>(momentum_) * velocity_[f] + static_cast<float>(scale) * gradient_[f];
      parameters_[f] -= static_cast<float>(lr_) * velocity_[f];
    }
  }

 private:
  std::shared_ptr<const ToyData> data_;
  const double lr_;
  const double momentum_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  std::vector<float> velocity_;
};

class ToyTask final : public Task {
 public:
  ToyTask(std::int64_t samples, std::size_t features, std::uint64_t seed, double lr,
          double momentum = 0)
      : data_(std::make_shared<ToyData>(samples, features, seed)), lr_(lr), momentum_(momentum) {}

  std::int64_t training_samples() const override {
    return static_cast<std::int64_t>(data_->labels.size());
  }
  std::unique_ptr<Replica> make_replica() override {
    return std::make_unique<ToyReplica>(data_, lr_, momentum_);
  }
  // An answer within a tenth is a right one.
  std::optional<Evaluation> evaluate(const Snapshot& snapshot) override {
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
  std::string model_file(const Snapshot& snapshot) override {
    std::string bytes(snapshot.parameters.size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), snapshot.parameters.data(), bytes.size());
    return bytes;
  }

 private:
  std::shared_ptr<const ToyData> data_;
  const double lr_;
  const double momentum_;
};

}  // namespace motley
