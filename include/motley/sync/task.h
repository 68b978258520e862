// Task: what a job trains: the data, a model to replicate, and how to evaluate it. compute/load.h
// makes one with torch; a phantom job needs neither data nor torch.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "motley/sync/replica.h"

namespace motley {

// A copy of a model's numbers at one point in time.
struct Snapshot {
  std::vector<float> parameters;
  std::vector<float> buffers;
  std::int64_t samples = 0;  // used by all workers by then; set in models to evaluate
};

inline Snapshot snapshot_of(Replica& replica) {
  const auto parameters = replica.parameters().floats();
  const auto buffers = replica.buffers().floats();
  return {{parameters.begin(), parameters.end()}, {buffers.begin(), buffers.end()}, 0};
}

// How good a model is on the whole test set.
struct Evaluation {
  double loss = 0;  // mean
  // Share of correct answers; NaN where there is no such thing.
  double accuracy = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, double> metrics = {};  // whatever else is measured, by name
};

class Task {
 public:
  virtual ~Task() = default;

  virtual std::int64_t training_samples() const = 0;
  // Makes a replica in its initial state. The state depends on the job's seed only, so it is the
  // same in every process. The replica keeps the task alive as long as it needs it.
  virtual std::unique_ptr<Replica> make_replica() = 0;
  // nullopt if there is nothing to evaluate (phantom).
  virtual std::optional<Evaluation> evaluate(const Snapshot& snapshot) = 0;
  // The contents of model.pt; empty if there is no model to save (phantom). The same snapshot gives
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
