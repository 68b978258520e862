// A task small enough to check by hand: linear regression with SGD, without torch. The solution is
// known, so training it to the end proves the path from samples to applied steps. The arithmetic is
// in a library (motley_toy_task), because tests are compiled without optimisation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "motley/sync/task.h"

namespace motley {

struct ToyData {
  ToyData(std::int64_t samples, std::size_t features, std::uint64_t seed);

  float error(std::size_t sample, const float* weights) const;

  std::size_t width;
  std::vector<float> inputs;
  std::vector<float> labels;
};

class ToyReplica final : public Replica {
 public:
  ToyReplica(std::shared_ptr<const ToyData> data, double lr, double momentum = 0);

  Block parameters() override { return {parameters_.data(), parameters_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {}; }

  std::vector<TensorInfo> tensors() override {
    return {{.name = "linear.weight", .shape = {1, static_cast<std::int64_t>(data_->width)}}};
  }

  double compute(std::span<const SampleIndex> samples) override;
  void apply(double scale) override;
  void state(Archive& archive) override {
    Replica::state(archive);
    archive.tensor("velocity", std::span(velocity_));
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
          double momentum = 0);

  std::int64_t training_samples() const override;
  std::unique_ptr<Replica> make_replica() override;
  // An answer within a tenth counts as correct.
  std::optional<Evaluation> evaluate(const Snapshot& snapshot) override;
  std::string model_file(const Snapshot& snapshot) override;

 private:
  std::shared_ptr<const ToyData> data_;
  const double lr_;
  const double momentum_;
};

}  // namespace motley
