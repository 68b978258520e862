// What follows when a term was cut off, because members were lost: which samples count as used,
// which are dealt again, and whose model is the newest. Pure.
//
// Methods with common steps: a step counts if any survivor's model has taken it; the others take
// that model over. Otherwise it is done again, with the same samples. Methods at their own pace:
// every survivor keeps its model; what was dealt and is in no survivor's model, and was not
// returned by one that was lost, is dealt again. What a lost server had, its method rebuilds from
// the newest copies that survivors hold (Method::fit).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "motley/allocate/ledger.h"
#include "motley/sync/dealings.h"
#include "motley/sync/strategy.h"
#include "record/summary.h"
#include "state/state.h"
#include "sync/survivor.h"

namespace motley {

struct CutOff {
  Advance advance = Advance::kTogether;
  const LedgerOptions& ledger;  // of the term
  // By rank: what each worker says; nullopt: it is lost.
  std::vector<std::optional<Survivor>> survivors;
  const Dealings& dealings;
  std::vector<int> lost_servers = {};  // ids
  std::int64_t only_served = 0;        // RunPosition::only_served, when the term began
};

struct Continuation {
  std::int64_t used = 0;  // samples of the run
  std::vector<SampleRange> owed;
  // Whose model those who are behind take; set if somebody is.
  std::optional<Rank> newest = std::nullopt;
  std::vector<Rank> behind = {};
  Losses losses = {};
  // As in RunPosition.
  std::vector<OwnUpdates> own_updates = {};
  std::int64_t only_served = 0;
  std::string reason;
};

// At least one worker must have survived.
Continuation what_follows(const CutOff& cut);

// In the whole state of a run of so many workers, those who are behind get the model of the newest
// one, and what its optimizer knows. They keep their random generators.
void take_newest(State& state, int workers, const Continuation& next);

}  // namespace motley
