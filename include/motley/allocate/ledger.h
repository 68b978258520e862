// Which samples a step uses: every sample exactly once an epoch, in an order that the seed alone
// decides, so that real, simulated and single-worker runs see the same batches.
//
// A run is one long row of samples: epoch after epoch, each a permutation of the data set. A step
// of all workers takes the next `batch` of them, fewer at the end of an epoch and at the end of the
// run. Workers without a common step take theirs as they come (dispenser.h), also across that
// border.
//
// The order of an epoch is computed, not stored (allocate/keyed_permutation.h): a ledger of any
// data set takes the memory of one step, and any place of the run can be asked for.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

struct LedgerOptions {
  std::int64_t dataset = 0;  // samples in the data set
  std::int64_t batch = 0;    // samples in a step of the whole cluster
  std::int64_t limit = 0;    // samples in the whole run
  std::uint64_t seed = 0;
};

// Samples [begin, begin + count) of the order of an epoch, and behind its end those of the next
// one. count = 0: the run is over.
struct StepSamples {
  std::int64_t epoch = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;

  friend bool operator==(const StepSamples&, const StepSamples&) = default;
};

// The next `want` samples of the row when `used` of them have been; fewer at the end of the run.
StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want);

// The part of a step that belongs to `rank` when it is dealt out in the order of the ranks.
StepSamples share_of(const StepSamples& step, std::span<const std::size_t> shares, Rank rank);

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // The step that follows when `used` samples of the run have been used.
  StepSamples step_after(std::int64_t used) const {
    const std::int64_t left = options_.dataset - used % options_.dataset;
    return samples_after(options_, used, std::min(options_.batch, left));
  }
  // The samples themselves, valid until the next call. Cost: O(step.count), wherever the step is.
  std::span<const SampleIndex> samples(const StepSamples& step);

  const LedgerOptions& options() const { return options_; }

 private:
  LedgerOptions options_;
  std::vector<SampleIndex> samples_;  // of the last call
};

// Samples in the whole run: the smaller of `epochs` and `steps`, whichever are given (0 = not).
std::int64_t sample_limit(std::int64_t dataset, std::int64_t batch, std::int64_t epochs,
                          std::int64_t steps);

}  // namespace motley
