// Allocator: how many samples each worker computes, kept up to date while a job runs.
//
// A method asks for shares and does no more about it: the loop (sync/loop.h) tells the Allocator
// what every step cost, and the Allocator measures, lets the workers tell each other, and asks the
// job's allocation (allocate/allocation.h) what follows.
//
// Cost: nothing in most steps; after a window (or an epoch) one sum over all workers of 12 bytes
// for each of them.
#pragma once

#include <optional>

#include "allocate/allocation.h"
#include "motley/allocate/ledger.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/sync/collective.h"
#include "motley/sync/strategy.h"

namespace motley {

// From `step` on, these shares held.
struct ShareChange {
  std::int64_t step = 0;
  Decision decision;
};

// What the allocation came to on one worker.
struct AllocationResult {
  // The first entry is what it began with; none where shares are fixed, but on the first worker.
  std::vector<ShareChange> history;
  std::string last_look;  // what the allocation last said, also when it changed nothing
  std::size_t share = 0;  // of this worker, in the end
  StepCost cost;          // what this worker measured of itself
};

class Allocator {
 public:
  Allocator(Node& node, const Job& job, const LedgerOptions& ledger, Advance advance,
            Journal& journal);

  // This worker's part of a step that all take together, which begins: by the current shares, or
  // for a short step by their proportion.
  StepSamples part_of(const StepSamples& step);

  // For methods without a common step: this worker's own batch in its next step. What is decided
  // after this question is for the step behind that.
  std::size_t next_share();
  // That step begins. (part_of() asks and begins at once.)
  void take_effect();

  // After every step of this worker: what it computed, how long that took, and how many samples all
  // workers together have used. May block to hear from the others.
  void after_step(std::size_t samples, Seconds seconds, std::int64_t used);

  // Time spent waiting for others to tell what they measured.
  Seconds waited() const { return collective_.waited(); }
  // Ends the measuring.
  AllocationResult result();

 private:
  bool is_fixed() const { return allocation_.told == Told::kNothing; }
  // Of all workers, in a full step: those of the step under way.
  Shares current() const;
  void set_own(const Shares& shares);
  void write_down(const Shares& before, const Decision& decision);
  std::size_t self() const { return static_cast<std::size_t>(node_.rank()); }
  std::optional<StepCost> news(std::int64_t used);
  void hear_together(const StepCost& mine);
  void hear_at_own_pace(const StepCost& mine);

  Node& node_;
  const Allocation& allocation_;
  const Job& job_;
  const Advance advance_;
  Journal& journal_;
  const LedgerOptions ledger_;
  const std::int64_t window_;  // steps
  Collective collective_;
  SpeedEstimate speed_;
  MeanTime mean_;
  StepCost cost_;                // as speed_ last estimated it
  std::vector<StepCost> costs_;  // of every worker, as last heard
  std::int64_t steps_ = 0;       // of this worker
  std::int64_t used_ = 0;        // samples, by all
  // Where nothing changes only the first worker keeps it: among thousands, a row of all workers'
  // shares on each of them would be most of a simulation's memory.
  std::vector<ShareChange> history_;
  StepSamples own_;                     // this worker's part of a full step
  std::optional<ShareChange> decided_;  // and not asked for yet
  std::optional<ShareChange> asked_;    // and not in effect yet
  std::string last_look_;
};

}  // namespace motley
