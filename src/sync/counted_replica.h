// CountedReplica: a replica that counts the steps of its optimizer, so that the training loop knows
// whether a step that was cut off is in the model. It also leaves out a step that has no weight.
#pragma once

#include "motley/sync/replica.h"

namespace motley {

class CountedReplica final : public Replica {
 public:
  explicit CountedReplica(Replica& replica) : replica_(replica) {}

  std::int64_t steps() const { return steps_; }

  Block parameters() override { return replica_.parameters(); }
  Block gradient() override { return replica_.gradient(); }
  Block tail() override { return replica_.tail(); }
  Block buffers() override { return replica_.buffers(); }
  std::vector<TensorInfo> tensors() override { return replica_.tensors(); }
  void set_micro_batch(std::size_t size) override { replica_.set_micro_batch(size); }
  double compute(std::span<const SampleIndex> samples) override {
    return replica_.compute(samples);
  }
  void scale_gradient(double factor) override { replica_.scale_gradient(factor); }
  int reads_ahead() const override { return replica_.reads_ahead(); }
  void expect(const std::vector<std::vector<SampleIndex>>& steps) override {
    replica_.expect(steps);
  }
  void apply(double scale) override {
    if (!is_idle_) {
      replica_.apply(scale);
    }
    ++steps_;
  }
  // Whether apply() leaves the model as it is.
  void set_idle(bool is_idle) { is_idle_ = is_idle; }
  void state(Archive& archive) override { replica_.state(archive); }
  void common_state(Archive& archive) override { replica_.common_state(archive); }

 private:
  Replica& replica_;
  std::int64_t steps_ = 0;
  bool is_idle_ = false;
};

}  // namespace motley
