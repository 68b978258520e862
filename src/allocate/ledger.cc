#include "motley/allocate/ledger.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "allocate/keyed_permutation.h"
#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kOrderStream = 0xda7a0000;

KeyedPermutation order_of(const LedgerOptions& options, std::int64_t epoch) {
  return {static_cast<std::uint64_t>(options.dataset),
          Random(options.seed, kOrderStream + static_cast<std::uint64_t>(epoch))};
}

}  // namespace

StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want) {
  StepSamples step;
  step.epoch = used / options.dataset;
  step.begin = used % options.dataset;
  const std::int64_t left = used < options.end ? options.limit - used : 0;
  step.count = std::clamp<std::int64_t>(left, 0, want);
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
  samples_.resize(static_cast<std::size_t>(step.count));
  std::span<SampleIndex> rest(samples_);
  std::int64_t begin = step.begin;
  for (std::int64_t epoch = step.epoch; !rest.empty(); ++epoch) {
    const auto of_epoch = std::min(rest.size(), static_cast<std::size_t>(options_.dataset - begin));
    order_of(options_, epoch).fill(static_cast<std::uint64_t>(begin), rest.first(of_epoch));
    rest = rest.subspan(of_epoch);
    begin = 0;
  }
  return samples_;
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
