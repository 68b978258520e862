// A task that counts how often each sample's gradient has been applied to a model.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/toy_task.h"

namespace motley {

class AppliedTask final : public Task {
 public:
  explicit AppliedTask(std::int64_t samples)
      : applied(static_cast<std::size_t>(samples), 0), toy_(samples, 7, 3, 0.01, 0.5) {}

  std::int64_t training_samples() const override { return toy_.training_samples(); }
  std::unique_ptr<Replica> make_replica() override {
    return std::make_unique<Watched>(*this, toy_.make_replica());
  }
  std::optional<Evaluation> evaluate(const Snapshot& snapshot) override {
    return toy_.evaluate(snapshot);
  }
  std::string model_file(const Snapshot&) override { return {}; }

  std::vector<std::int64_t> applied;  // by sample

 private:
  struct Watched final : public Replica {
    Watched(AppliedTask& its_task, std::unique_ptr<Replica> its_model)
        : task(its_task), model(std::move(its_model)) {}
    Block parameters() override { return model->parameters(); }
    Block gradient() override { return model->gradient(); }
    Block buffers() override { return model->buffers(); }
    std::vector<TensorInfo> tensors() override { return model->tensors(); }
    double compute(std::span<const SampleIndex> samples) override {
      computed.assign(samples.begin(), samples.end());
      return model->compute(samples);
    }
    void apply(double scale) override {
      model->apply(scale);
      for (const SampleIndex sample : computed) {
        ++task.applied[sample];
      }
      computed.clear();
    }
    void state(Archive& archive) override { model->state(archive); }

    AppliedTask& task;
    std::unique_ptr<Replica> model;
    std::vector<SampleIndex> computed;
  };

  ToyTask toy_;
};

}  // namespace motley
