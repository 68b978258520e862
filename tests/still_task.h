// A task that computes nothing, like a phantom, but has real parameters, which are sent.
#pragma once

#include <memory>
#include <vector>

#include "base/random.h"
#include "motley/sync/task.h"

namespace motley {

class StillReplica final : public Replica {
 public:
  explicit StillReplica(std::size_t size) : parameters_(size), gradient_(size + kTail) {
    // Small enough that repeated summing does not overflow.
    constexpr float kTiny = 1e-20F;
    Random random(1);
    for (std::size_t i = 0; i < size; ++i) {
      parameters_[i] = static_cast<float>(random.uniform()) - 0.5F;
      gradient_[i] = kTiny * parameters_[i];
    }
  }
  Block parameters() override { return {parameters_.data(), parameters_.size()}; }
  Block gradient() override { return {gradient_.data(), gradient_.size()}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}

 private:
  std::vector<float> parameters_;
  std::vector<float> gradient_;
};

class StillTask final : public PhantomTask {
 public:
  using PhantomTask::PhantomTask;
  std::unique_ptr<Replica> make_replica() override {
    return std::make_unique<StillReplica>(parameters());
  }
};

}  // namespace motley
