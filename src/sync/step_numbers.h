// StepNumbers: the training loop's part of the numbers behind a gradient (Replica::kTail), which
// are summed over all workers with it.
#pragma once

#include <optional>
#include <span>

#include "motley/sync/strategy.h"
#include "sync/two_floats.h"

namespace motley {

class StepNumbers {
 public:
  // The whole tail.
  explicit StepNumbers(std::span<float> tail) : tail_(tail) {}

  // This worker's own numbers. Without samples it has no weight either, whether it was given one or
  // not. A weight is left out if it is not summed.
  void put(const StepResult& result, bool has_samples);

  // The following are of the sums.
  // nullopt: no worker gave a weight. Throws std::logic_error if some workers did and others, with
  // samples, did not.
  std::optional<double> weight() const;
  double count(std::size_t place) const { return double_at(kCounts + 2 * place); }
  bool all_have_heard(int workers) const { return tail_[kHeard] >= static_cast<float>(workers); }

 private:
  enum Slot : std::size_t {
    kWeighted = Replica::kMethodTail,  // how many workers gave a weight
    kUnweighted,                       // how many had samples and gave none
    kHeard,
    kWeight,
    kCounts = kWeight + 2,
    kEnd = kCounts + 2 * kMostCounts
  };
  static_assert(kEnd == Replica::kTail);

  void put_double(std::size_t slot, double value);
  double double_at(std::size_t slot) const { return sum_of(tail_[slot], tail_[slot + 1]); }

  const std::span<float> tail_;
};

}  // namespace motley
