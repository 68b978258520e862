#include "motley/allocate/ledger.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kShuffleStream = 0xda7a0000;

}  // namespace

StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want) {
  StepSamples step;
  step.epoch = used / options.dataset;
  step.begin = used % options.dataset;
  step.count = std::clamp<std::int64_t>(options.limit - used, 0, want);
  return step;
}

StepSamples share_of(const StepSamples& step, std::span<const std::size_t> shares, Rank rank) {
  StepSamples part = step;
  const auto before = shares.first(static_cast<std::size_t>(rank));
  part.begin +=
      static_cast<std::int64_t>(std::accumulate(before.begin(), before.end(), std::size_t{0}));
  part.count = static_cast<std::int64_t>(shares[static_cast<std::size_t>(rank)]);
  return part;
}

std::span<const SampleIndex> Ledger::samples(const StepSamples& step) {
  const auto first = samples_of_epoch(step);
  StepSamples rest{step.epoch + 1, 0, step.count - static_cast<std::int64_t>(first.size())};
  if (rest.count == 0) {
    return first;
  }
  of_several_.assign(first.begin(), first.end());
  while (rest.count > 0) {
    const auto next = samples_of_epoch(rest);
    of_several_.insert(of_several_.end(), next.begin(), next.end());
    rest = {rest.epoch + 1, 0, rest.count - static_cast<std::int64_t>(next.size())};
  }
  return of_several_;
}

std::span<const SampleIndex> Ledger::samples_of_epoch(const StepSamples& step) {
  if (step.epoch != shuffled_epoch_) {
    order_.resize(static_cast<std::size_t>(options_.dataset));
    std::iota(order_.begin(), order_.end(), SampleIndex{0});
    Random random(options_.seed, kShuffleStream + static_cast<std::uint64_t>(step.epoch));
    random.shuffle(std::span(order_));
    shuffled_epoch_ = step.epoch;
  }
  const std::int64_t count = std::min(step.count, options_.dataset - step.begin);
  return std::span(order_).subspan(static_cast<std::size_t>(step.begin),
                                   static_cast<std::size_t>(count));
}

std::int64_t sample_limit(std::int64_t dataset, std::int64_t batch, std::int64_t epochs,
                          std::int64_t steps) {
  std::int64_t limit = std::numeric_limits<std::int64_t>::max();
  if (epochs > 0) {
    limit = std::min(limit, epochs * dataset);
  }
  if (steps > 0) {
    limit = std::min(limit, steps * batch);
  }
  return limit;
}

}  // namespace motley
