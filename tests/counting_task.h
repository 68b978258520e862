// A task that counts computed samples.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "motley/sync/task.h"

namespace motley {

// Counts how often each sample is computed. The gradient is zero.
class CountingTask final : public Task {
 public:
  explicit CountingTask(std::int64_t samples) : counts(static_cast<std::size_t>(samples), 0) {}
  std::int64_t training_samples() const override {
    return static_cast<std::int64_t>(counts.size());
  }
  std::unique_ptr<Replica> make_replica() override { return std::make_unique<Counter>(*this); }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

  std::vector<std::int64_t> counts;  // by sample

 private:
  struct Counter final : public Replica {
    explicit Counter(CountingTask& its_task) : task(its_task) {}
    Block parameters() override { return {numbers.data(), 1}; }
    Block gradient() override { return {numbers.data(), 1 + kTail}; }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override {
      for (const SampleIndex sample : samples) {
        ++task.counts[sample];
      }
      return 0;
    }
    void apply(double) override {}
    CountingTask& task;
    std::vector<float> numbers = std::vector<float>(1 + kTail, 0.0F);
  };
};

}  // namespace motley
