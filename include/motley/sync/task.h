// Task: what a job trains, as runtime and simulator see it: data, a model to copy, a way to judge.
// compute/load.h makes one with torch; a phantom job needs none of that.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "motley/sync/replica.h"

namespace motley {

// A model's numbers at one moment, apart from any replica.
struct Snapshot {
  std::vector<float> parameters;
  std::vector<float> buffers;
};

inline Snapshot snapshot_of(Replica& replica) {
  const auto parameters = replica.parameters().floats();
  const auto buffers = replica.buffers().floats();
  return {{parameters.begin(), parameters.end()}, {buffers.begin(), buffers.end()}};
}

// On the whole test set: mean loss, share of right answers.
struct Evaluation {
  double loss = 0;
  double accuracy = 0;
};

class Task {
 public:
  virtual ~Task() = default;

  virtual std::int64_t training_samples() const = 0;
  // A new replica in its initial state, which the job's seed decides: the same in every process.
  // It keeps the task alive as long as it needs it.
  virtual std::unique_ptr<Replica> make_replica() = 0;
  // nullopt when there is nothing to judge (phantom).
  virtual std::optional<Evaluation> evaluate(const Snapshot& snapshot) = 0;
  // The bytes of model.pt; empty when there is no model to save (phantom). The same snapshot gives
  // the same bytes.
  virtual std::string model_file(const Snapshot& snapshot) = 0;
};

class PhantomTask : public Task {
 public:
  PhantomTask(std::int64_t samples, std::int64_t parameters)
      : samples_(samples), parameters_(parameters) {}
  std::int64_t training_samples() const override { return samples_; }
  std::unique_ptr<Replica> make_replica() override {
    return std::make_unique<PhantomReplica>(parameters());
  }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

 protected:
  std::size_t parameters() const { return static_cast<std::size_t>(parameters_); }

 private:
  std::int64_t samples_;
  std::int64_t parameters_;
};

}  // namespace motley
