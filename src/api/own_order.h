// OwnOrder: the order of samples that a program has set. A run that does not know it deals numbers
// of samples (SampleOrder::kOwn); this says which samples of the data set they are.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

class OwnOrder {
 public:
  using OrderOfEpoch = std::function<std::vector<SampleIndex>(std::int64_t epoch)>;

  // `order` is called once for each epoch, by samples_at(). Epochs use its first `epoch_samples`.
  OwnOrder(OrderOfEpoch order, std::int64_t data_set, std::int64_t epoch_samples)
      : order_(std::move(order)), data_set_(data_set), epoch_samples_(epoch_samples) {}

  // The samples that have these numbers in the run. Throws std::invalid_argument if the order of an
  // epoch is not one of the whole data set.
  std::vector<SampleIndex> samples_at(std::span<const SampleIndex> numbers);
  // Any thread: the same for epochs of which the order was asked for before; otherwise nullopt.
  std::optional<std::vector<SampleIndex>> known_samples_at(
      std::span<const SampleIndex> numbers) const;

 private:
  std::int64_t epoch_of(SampleIndex number) const {
    return static_cast<std::int64_t>(number) / epoch_samples_;
  }
  void learn(std::int64_t epoch);

  const OrderOfEpoch order_;
  const std::int64_t data_set_;
  const std::int64_t epoch_samples_;
  mutable std::mutex mutex_;
  std::map<std::int64_t, std::vector<SampleIndex>> known_;  // guarded by mutex_: the last epochs
};

}  // namespace motley
