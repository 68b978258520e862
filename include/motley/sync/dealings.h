// Dealings: what the coordinator has dealt to workers at their own pace in a term, so that what
// nobody has computed can be dealt again if the term is cut off. Pure.
//
//   dealings.begin(first_shares);             // a term begins
//   dealings.deal(worker, samples);           // what it gets after the grants before
//   dealings.outstanding(worker, 3);          // what it has not computed after three iterations
//
// A worker's first iteration in a term computes its share of the first step, its second one the
// first grant, and so on. It holds at most two grants that it has not computed, so the earlier ones
// are forgotten.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "motley/allocate/ledger.h"
#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

// Updates of one worker that would be lost with it.
struct OwnUpdates {
  std::int64_t unshared = 0;  // only in its own model
  // Only in its own model and on servers, or perhaps so: committed since somebody else has pulled.
  std::int64_t served = 0;

  void state(Archive& archive) {
    archive("unshared", unshared);
    archive("served", served);
  }
};

class Dealings {
 public:
  // The share of each worker in the first step; empty if samples are not dealt.
  void begin(const std::vector<StepSamples>& first, const LedgerOptions& ledger);
  void deal(Rank worker, const StepSamples& samples);
  // The worker has said that it has computed everything it was dealt.
  void computed_all(Rank worker);
  // The updates that, as far as the coordinator knows, are in no model but this worker's own.
  void set_unshared(Rank worker, std::int64_t updates);
  // The worker has pulled, and servers have so many updates that it had not shared before.
  void set_served(Rank worker, std::int64_t updates);
  // From terms that were cut off, by rank; or empty. Call it when the term begins.
  void carry(const std::vector<OwnUpdates>& own);

  // Whether samples are dealt in this term.
  bool are_dealt() const { return !workers_.empty(); }
  // Samples dealt in this term, the first step included.
  std::int64_t dealt() const { return dealt_; }
  // The grants of this worker after its first `iterations` of the term.
  std::vector<SampleRange> outstanding(Rank worker, std::int64_t iterations) const;
  // How many iterations of the term it has computed, as far as the coordinator was told.
  std::int64_t known_iterations(Rank worker) const;
  const OwnUpdates& own(Rank worker) const { return of(worker).own; }
  // Whether the worker has pulled in this term.
  bool has_pulled(Rank worker) const { return of(worker).has_pulled; }

 private:
  struct Worker {
    std::deque<SampleRange> grants;
    std::int64_t forgotten = 0;  // grants before these
    std::int64_t computed = 0;   // of all grants, as far as it has said
    OwnUpdates own;
    std::int64_t last_served = 0;  // in its last commit
    bool has_pulled = false;
  };
  const Worker& of(Rank worker) const { return workers_.at(static_cast<std::size_t>(worker)); }

  std::int64_t dataset_ = 1;
  std::int64_t dealt_ = 0;
  std::vector<Worker> workers_;
};

}  // namespace motley
