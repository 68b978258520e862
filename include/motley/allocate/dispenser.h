// Dispenser: deals the samples of a run to workers that have no common steps.
//
// A worker that is ready gets the next samples of the run (ledger.h). So every sample is used
// exactly once per epoch, however fast each worker is, and the run ends exactly at its limit. A
// term (motley/sync/term.h) ends with the deal that reaches its end.
#pragma once

#include <algorithm>
#include <cstdint>

#include "motley/allocate/ledger.h"

namespace motley {

class Dispenser {
 public:
  // The workers already have the first `dealt` samples of the run. Nobody gets fewer than `least`
  // at a time if that can be avoided.
  Dispenser(const LedgerOptions& options, std::int64_t dealt, std::int64_t least = 1)
      : options_(options), least_(least), dealt_(dealt) {}

  // The next `want` samples, fewer at the end of the run. count = 0: there are no more.
  StepSamples next(std::int64_t want) {
    want = std::max(want, least_);
    // What would be left after this, and is too little, goes with it.
    StepSamples samples = samples_after(options_, dealt_, want + least_);
    const bool are_the_last = samples.count < want + least_;
    samples.count = are_the_last ? samples.count : want;
    dealt_ += samples.count;
    return samples;
  }

  // Samples dealt so far.
  std::int64_t dealt() const { return dealt_; }

  // Ends the term early: nothing more is dealt.
  void close() { options_.limit = dealt_; }

 private:
  LedgerOptions options_;
  std::int64_t least_;
  std::int64_t dealt_;
};

}  // namespace motley
