// fitted(): a run goes on with other workers or servers, another method, codec or allocation, and
// its state has to fit them. docs/state.md says what becomes of which part. Pure.
//
//   State next = fitted(state, job, training_samples,
//                       {.members = {.before = 4, .previous = {0, 1, 3, std::nullopt}}});
//
// In a State of a run (runtime/run/run_position.h) a worker that is gone may have no part: what it
// had is then lost.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "motley/job/job.h"
#include "state/state.h"
#include "sync/refit.h"

namespace motley {

// How a state has to change.
struct StateChange {
  MemberChange members;       // workers
  std::vector<int> ids = {};  // of the workers now, by rank; empty: 0 and so on
  // A server that was lost is a newcomer, and the state has no part of it: the method may rebuild
  // what it had. nullopt: MemberChange::first_stay().
  std::optional<MemberChange> servers = std::nullopt;
  // The term was cut off: what was half done is put right, also if nobody is gone.
  bool is_cut_off = false;
  std::vector<bool> undone = {};  // as in Refit
};

// A state that fits stays as it is. Throws StateError if the state is damaged, and
// std::invalid_argument if the members cannot be: there are as many as the job has workers or
// servers, and nobody continues as two of them.
State fitted(const State& state, const Job& job, std::int64_t training_samples,
             const StateChange& change);
// The first workers stay (MemberChange::first_stay()).
State fitted(const State& state, const Job& job, std::int64_t training_samples);
// Whether it would stay as it is. Copies no models. Throws StateError.
bool fits(const State& state, const Job& job, std::int64_t training_samples);

}  // namespace motley
