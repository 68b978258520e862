// A task whose model counts: every number of it grows with each sample, by as much as the method
// lets it weigh. So the final model says how many samples are in it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "motley/sync/task.h"

namespace motley {

class AddingTask final : public Task {
 public:
  explicit AddingTask(std::int64_t samples) : samples_(samples) {}
  std::int64_t training_samples() const override { return samples_; }
  std::unique_ptr<Replica> make_replica() override { return std::make_unique<Adder>(); }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

 private:
  struct Adder final : public Replica {
    static constexpr std::size_t kSize = 7;
    Block parameters() override { return {numbers.data(), kSize}; }
    Block gradient() override { return {sums.data(), sums.size()}; }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override {
      for (std::size_t i = 0; i < kSize; ++i) {
        sums[i] = static_cast<float>(samples.size());
      }
      return 0;
    }
    void apply(double scale) override {
      for (std::size_t i = 0; i < kSize; ++i) {
        numbers[i] += static_cast<float>(scale) * sums[i];
      }
    }
    std::vector<float> numbers = std::vector<float>(kSize, 0.0F);
    std::vector<float> sums = std::vector<float>(kSize + kTail, 0.0F);
  };

  std::int64_t samples_;
};

}  // namespace motley
