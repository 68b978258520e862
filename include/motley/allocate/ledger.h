// Ledger: which samples a step uses. Every sample is used exactly once per epoch, in an order that
// depends on the seed only, so real, simulated and single-worker runs see the same batches. (Other
// orders: motley/base/sample_order.h. If the last samples of an epoch would be less than a batch,
// they can be left out: LedgerOptions::left_out.)
//
// A run is one long sequence of samples: epoch after epoch, each a permutation of the data set.
// A common step of all workers takes the next `batch` samples, or fewer at the end of an epoch or
// of the run. Workers without common steps take samples as they need them (dispenser.h); such a
// range may cross the end of an epoch.
//
// If a term was cut off, samples that were dealt in it may be unused while later ones are used. The
// next term begins with them (LedgerOptions::owed).
//
// The order of an epoch is computed, not stored (allocate/keyed_permutation.h): a ledger needs
// memory for one step only, however large the data set is, and can start at any position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "motley/base/ids.h"
#include "motley/base/sample_order.h"

namespace motley {

// Samples [begin, begin + count) of the run: in the first epoch, `begin` counts in its order; the
// second epoch follows it.
struct SampleRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;

  friend bool operator==(const SampleRange&, const SampleRange&) = default;
};

struct LedgerOptions {
  std::int64_t dataset = 0;  // samples in an epoch
  std::int64_t batch = 0;    // samples per step of the whole cluster
  std::int64_t limit = 0;    // samples in the whole run
  std::uint64_t seed = 0;
  SampleOrder order = SampleOrder::kShuffled;
  // Samples of the data set that an epoch does not use: the last ones of its order.
  std::int64_t left_out = 0;
  // Of the current term (motley/sync/term.h): samples used before it, and the number at which it
  // ends. Steps are not cut short there: the one that reaches it is the last.
  std::int64_t begin = 0;
  std::int64_t end = std::numeric_limits<std::int64_t>::max();
  // The first samples of the term. Behind them, the samples of the run go on as if these had been
  // used in their places. In order, without empty ranges.
  std::vector<SampleRange> owed = {};
};

// Samples [begin, begin + count) in the order of an epoch; indices past its end continue in the
// next epoch. count = 0 means that the run or the term is over.
struct StepSamples {
  std::int64_t epoch = 0;
  std::int64_t begin = 0;
  std::int64_t count = 0;

  friend bool operator==(const StepSamples&, const StepSamples&) = default;
};

// The next `want` samples after `used` have been used; fewer at the end of the run and of a range
// that is owed, none at the end of the term.
StepSamples samples_after(const LedgerOptions& options, std::int64_t used, std::int64_t want);
// What is still owed after `used` samples of the run have been dealt, in this term's order.
std::vector<SampleRange> owed_after(const LedgerOptions& options, std::int64_t used);
// The same samples in order, neighbours joined.
std::vector<SampleRange> joined(std::vector<SampleRange> ranges);
std::int64_t count_of(std::span<const SampleRange> ranges);

// The part of a step that `rank` computes: shares are cut from the step in the order of ranks.
StepSamples share_of(const StepSamples& step, std::span<const std::size_t> shares, Rank rank);

class Ledger {
 public:
  explicit Ledger(const LedgerOptions& options) : options_(options) {}

  // The first step of the term.
  StepSamples first_step() const { return step_after(options_.begin); }
  // The step that follows after `used` samples of the run.
  StepSamples step_after(std::int64_t used) const {
    StepSamples step = samples_after(options_, used, options_.batch);
    step.count = std::min(step.count, options_.dataset - step.begin);  // within an epoch
    return step;
  }
  // The indices of the step's samples. Valid until the next call. Cost: O(step.count), wherever
  // the step is.
  std::span<const SampleIndex> samples(const StepSamples& step);

  const LedgerOptions& options() const { return options_; }

 private:
  LedgerOptions options_;
  std::vector<SampleIndex> samples_;  // of the last call
};

// Samples in an epoch of a data set of this size. With drop_last there are whole batches only.
std::int64_t epoch_samples(std::int64_t dataset, std::int64_t batch, bool drop_last);

// Samples in the whole run: the smaller of the limits `epochs` and `steps`; 0 = no such limit.
std::int64_t sample_limit(std::int64_t dataset, std::int64_t batch, std::int64_t epochs,
                          std::int64_t steps);

}  // namespace motley
