// Allocator: how many samples each worker computes, kept up to date during a run.
//
// A method only asks for shares. The loop (sync/loop.h) tells the Allocator what every step cost;
// the Allocator measures, exchanges the results between workers, and asks the job's allocation
// (allocate/allocation.h) for new shares.
//
// Cost: nothing in most steps; after a window (or an epoch) one sum over all workers of 12 bytes
// per worker.
#pragma once

#include <optional>

#include "allocate/allocation.h"
#include "motley/allocate/ledger.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/sync/collective.h"
#include "motley/sync/strategy.h"
#include "sync/refit.h"

namespace motley {

// Samples of a full step, over all workers.
std::int64_t full_step(const LedgerOptions& ledger);
// What the job's allocation has to know.
AllocationOptions allocation_options(const Job& job, const LedgerOptions& ledger);

// For methods without common steps: every worker's part of the term's first step, by rank. By the
// initial shares, because only these are the same on all workers.
std::vector<StepSamples> first_parts(const Job& job, const LedgerOptions& ledger);

// From `step` on, these shares were used.
struct ShareChange {
  std::int64_t step = 0;
  Decision decision;

  void state(Archive& archive) {
    archive("step", step);
    archive("decision", decision);
  }
};

// The result of the allocation on one worker.
struct AllocationResult {
  // The first entry holds the initial shares. Empty if shares are fixed, except on rank 0.
  std::vector<ShareChange> history;
  std::string last_look;  // the last decision, also if it changed nothing
  std::size_t share = 0;  // of this worker, at the end
  StepCost cost;          // this worker's own measurement
};

// What an Allocator keeps from one term to the next.
struct AllocatorState {
  SpeedEstimate speed = SpeedEstimate{};
  MeanTime mean = {};
  StepCost cost = {};                // the last estimate of `speed`
  std::vector<StepCost> costs = {};  // of every worker, as last heard; empty if shares are fixed
  std::int64_t steps = 0;            // of this worker
  std::int64_t used = 0;             // samples, by all workers
  // With fixed shares only rank 0 keeps it: among thousands of workers, a copy on each would be
  // most of a simulation's memory.
  std::vector<ShareChange> history = {};
  std::optional<ShareChange> decided = {};  // but not asked for yet
  std::optional<ShareChange> asked = {};    // but not in effect yet
  std::string last_look = {};

  void state(Archive& archive);
};

class Allocator {
 public:
  Allocator(Node& node, const Job& job, const LedgerOptions& ledger, Advance advance,
            Journal& journal);

  // Call when a common step begins: this worker's part of it, by the current shares, or in their
  // proportion for a short step.
  StepSamples part_of(const StepSamples& step);

  // The same without any change: what this worker's part will be if the shares stay.
  StepSamples current_part_of(const StepSamples& step) const;

  // For methods without common steps: this worker's part of a term's first step (first_parts()).
  StepSamples first_part_of(const StepSamples& step) const;
  // For methods without common steps: this worker's batch in its next step. Decisions made after
  // this call apply to the step after that.
  std::size_t next_share();
  // Call when that step begins. (part_of() does both.)
  void take_effect();

  // Call after every step of this worker: what it computed, how long that took, and how many
  // samples all workers together have used. May block to exchange measurements.
  void after_step(std::size_t samples, Seconds seconds, std::int64_t used);

  // Time spent waiting for the measurements of others.
  Seconds waited() const { return collective_.waited(); }
  // Ends the measuring.
  AllocationResult result();

  void state(Archive& archive);

 private:
  bool is_fixed() const { return allocation_.told == CostReport::kNothing; }
  // The shares of all workers in a full step, for the first step and for the current one.
  Shares initial() const;
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
  AllocatorState kept_;
  StepSamples own_;          // this worker's part of a full step
  StepSamples initial_own_;  // the same by the initial shares
};

// Fits the allocators of all workers to other workers, another allocation or another batch, so that
// the shares of all add up to it and are the same everywhere. Nothing changes if nothing has
// changed. Those who stay keep their proportions and what they have measured; a newcomer gets the
// mean of their shares. Pure.
struct AllocatorFit {
  const Job& job;               // that goes on
  const LedgerOptions& ledger;  // `begin` samples have been used
  const MemberChange& members;
  bool keeps_allocation = true;
  bool is_cut_off = false;  // workers may have been between two decisions
};
std::vector<State> fitted_allocators(const std::vector<State>& before, const AllocatorFit& fit);

}  // namespace motley
