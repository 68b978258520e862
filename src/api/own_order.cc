#include "api/own_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace motley {
namespace {

constexpr std::size_t kKeptEpochs = 2;  // a share may reach from one into the next

}  // namespace

void OwnOrder::learn(std::int64_t epoch) {
  {
    const std::lock_guard lock(mutex_);
    if (known_.contains(epoch)) {
      return;
    }
  }
  std::vector<SampleIndex> order = order_(epoch);
  if (std::ssize(order) != data_set_) {
    throw std::invalid_argument(fmt::format(
        "the program's order of epoch {} has {} samples; expected {}, one for each of the data set",
        epoch, order.size(), data_set_));
  }
  const SampleIndex largest = *std::ranges::max_element(order);
  if (largest >= static_cast<SampleIndex>(data_set_)) {
    throw std::invalid_argument(
        fmt::format("the program's order of epoch {} has sample {}; the data set has 0 to {}",
                    epoch, largest, data_set_ - 1));
  }
  const std::lock_guard lock(mutex_);
  known_.emplace(epoch, std::move(order));
  while (known_.size() > kKeptEpochs) {
    known_.erase(known_.begin()->first == epoch ? std::prev(known_.end()) : known_.begin());
  }
}

std::vector<SampleIndex> OwnOrder::samples_at(std::span<const SampleIndex> numbers) {
  std::vector<SampleIndex> samples;
  for (const SampleIndex number : numbers) {
    const std::int64_t epoch = epoch_of(number);
    learn(epoch);
    const std::lock_guard lock(mutex_);
    samples.push_back(known_.at(epoch)[number % static_cast<SampleIndex>(epoch_samples_)]);
  }
  return samples;
}

std::optional<std::vector<SampleIndex>> OwnOrder::known_samples_at(
    std::span<const SampleIndex> numbers) const {
  const std::lock_guard lock(mutex_);
  std::vector<SampleIndex> samples;
  for (const SampleIndex number : numbers) {
    const auto known = known_.find(epoch_of(number));
    if (known == known_.end()) {
      return std::nullopt;
    }
    samples.push_back(known->second[number % static_cast<SampleIndex>(epoch_samples_)]);
  }
  return samples;
}

}  // namespace motley
