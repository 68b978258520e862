#include "allocate/ledger.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kShuffleStream = 0xda7a0000;

}  // namespace

StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want) {
  StepSamples step;
  step.epoch = used / options.dataset;
  step.begin = used % options.dataset;
  step.count = std::min({want, options.dataset - step.begin, options.limit - used});
  step.count = std::max<std::int64_t>(step.count, 0);
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
  if (step.epoch != shuffled_epoch_) {
    order_.resize(static_cast<std::size_t>(options_.dataset));
    std::iota(order_.begin(), order_.end(), SampleIndex{0});
    Random random(options_.seed, kShuffleStream + static_cast<std::uint64_t>(step.epoch));
    random.shuffle(std::span(order_));
    shuffled_epoch_ = step.epoch;
  }
  MOTLEY_CHECK(step.begin + step.count <= options_.dataset, "step past the end of its epoch");
  return std::span(order_).subspan(static_cast<std::size_t>(step.begin),
                                   static_cast<std::size_t>(step.count));
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
