#include "motley/allocate/ledger.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "allocate/keyed_permutation.h"
#include "base/random.h"

namespace motley {
namespace {

constexpr std::uint64_t kOrderStream = 0xda7a0000;

KeyedPermutation shuffled(const LedgerOptions& options, std::int64_t epoch) {
  return {static_cast<std::uint64_t>(options.dataset + options.left_out),
          Random(options.seed, kOrderStream + static_cast<std::uint64_t>(epoch))};
}

std::int64_t in_streams(const LedgerOptions& options, std::int64_t position) {
  const std::int64_t length = options.dataset / options.batch;
  return position % options.batch * length + position / options.batch;
}

// The samples at the positions from `begin` on of an epoch.
void fill_in_order(const LedgerOptions& options, std::int64_t epoch, std::int64_t begin,
                   std::span<SampleIndex> out) {
  if (options.order == SampleOrder::kShuffled) {
    shuffled(options, epoch).fill(static_cast<std::uint64_t>(begin), out);
    return;
  }
  const std::int64_t before = options.order == SampleOrder::kOwn ? epoch * options.dataset : 0;
  for (SampleIndex& sample : out) {
    const bool has_streams = options.order == SampleOrder::kStreams;
    sample = static_cast<SampleIndex>(has_streams ? in_streams(options, begin) : before + begin);
    ++begin;
  }
}

}  // namespace

StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want) {
  std::int64_t place = used;
  std::int64_t before = options.begin;
  for (const SampleRange& owed : options.owed) {
    if (used < before + owed.count) {
      place = owed.begin + used - before;
      want = std::min(want, before + owed.count - used);
      break;
    }
    before += owed.count;
  }
  StepSamples step;
  step.epoch = place / options.dataset;
  step.begin = place % options.dataset;
  const std::int64_t left = used < options.end ? options.limit - used : 0;
  step.count = std::clamp<std::int64_t>(left, 0, want);
  return step;
}

std::vector<SampleRange> owed_after(const LedgerOptions& options, std::int64_t used) {
  std::vector<SampleRange> rest;
  std::int64_t dealt = used - options.begin;  // of what is left of the list
  for (const SampleRange& owed : options.owed) {
    const std::int64_t gone = std::clamp<std::int64_t>(dealt, 0, owed.count);
    dealt -= gone;
    if (gone < owed.count) {
      rest.push_back({owed.begin + gone, owed.count - gone});
    }
  }
  return rest;
}

std::vector<SampleRange> joined(std::vector<SampleRange> ranges) {
  std::ranges::sort(ranges, {}, &SampleRange::begin);
  std::vector<SampleRange> all;
  for (const SampleRange& range : ranges) {
    if (range.count <= 0) {
      continue;
    }
    if (!all.empty() && all.back().begin + all.back().count == range.begin) {
      all.back().count += range.count;
    } else {
      all.push_back(range);
    }
  }
  return all;
}

std::int64_t count_of(std::span<const SampleRange> ranges) {
  std::int64_t sum = 0;
  for (const SampleRange& range : ranges) {
    sum += range.count;
  }
  return sum;
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
    fill_in_order(options_, epoch, begin, rest.first(of_epoch));
    rest = rest.subspan(of_epoch);
    begin = 0;
  }
  return samples_;
}

std::int64_t epoch_samples(std::int64_t dataset, std::int64_t batch, bool drop_last) {
  return drop_last ? dataset - dataset % batch : dataset;
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
