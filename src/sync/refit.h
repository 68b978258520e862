// Refit: a run goes on with other workers, other servers or another codec, and the state of its
// method has to fit them (docs/state.md). Pure: states in, states out.
//
// A method says with Method::fit what becomes of its own state. Whatever part it leaves empty
// begins as in the first term.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "motley/base/ids.h"
#include "motley/job/job.h"
#include "state/state.h"

namespace motley {

// Who the workers of a term were before, or its servers. Ranks count from 0 in every term; here
// those of servers do, too.
struct MemberChange {
  int before = 0;                             // how many there were
  std::vector<std::optional<Rank>> previous;  // by rank: its rank before; nullopt: a newcomer

  // The first ones stay; if there are fewer now, the last ones are gone; if there are more, the
  // last ones are newcomers.
  static MemberChange first_stay(int before, int now);

  int now() const { return static_cast<int>(previous.size()); }
  bool changed() const;
  // The ranks before of those who are not there any more.
  std::vector<Rank> gone() const;
  // Takes over what is only counted in sums: the first worker that stays; the first if none stays.
  Rank heir() const;

  // A list with one entry per worker before -> with one entry per worker now.
  template <class T>
  std::vector<T> arranged(const std::vector<T>& list, const T& newcomer) const {
    std::vector<T> all;
    for (const std::optional<Rank>& rank : previous) {
      all.push_back(rank ? list.at(static_cast<std::size_t>(*rank)) : newcomer);
    }
    return all;
  }
};

// What a method's parts have saved: Strategy::state(), ServiceContext::kept, ServerContext::kept.
// Empty: nothing is known of this part, or it begins as in the first term.
struct MethodState {
  State service;
  std::vector<State> workers;  // by rank
  std::vector<State> servers;
};

struct Refit {
  const Job& job;  // that goes on
  const MemberChange& members;
  // Who the servers were before, by their number in the term; one for each server that the job has.
  const MemberChange& servers;
  bool keeps_residuals = true;  // the codec of the job holds back, too: what was held back is kept
  // By rank before: the term was cut off in a common step that nobody has taken. What this worker's
  // codec sent in it is in no model. Empty: nobody's.
  std::vector<bool> undone = {};

  bool is_undone(Rank before) const {
    return static_cast<std::size_t>(before) < undone.size() &&
           undone[static_cast<std::size_t>(before)];
  }
};

// A value in a state, as its owner saved it.
template <class T>
T saved_value(const State& state, std::string_view name) {
  T value{};
  Archive archive = Archive::restoring(state);
  archive(name, value);
  return value;
}
// Saves a value in place of the one of this name.
template <class T>
void save_value(State& state, std::string_view name, T value) {
  State saved;
  Archive archive = Archive::saving(saved);
  archive(name, value);
  state.put(name, saved.part(name));
}

// Those who stay keep their state; that of newcomers is empty.
std::vector<State> arranged_states(const std::vector<State>& workers, const MemberChange& members);

// Adds what the counters of those who are gone say to those of the heir. `add` is called with the
// heir's counter and another one.
template <class T, class Add>
void inherit(std::vector<State>& now, const std::vector<State>& before, const MemberChange& members,
             std::string_view name, Add add) {
  State& heir = now[static_cast<std::size_t>(members.heir())];
  for (const Rank rank : members.gone()) {
    const State& gone = before[static_cast<std::size_t>(rank)];
    if (!gone.empty() && !heir.empty()) {
      T sum = saved_value<T>(heir, name);
      add(sum, saved_value<T>(gone, name));
      save_value(heir, name, std::move(sum));
    }
  }
}

// The residuals of encoders (codec/codec.h), each worker's as one block, or empty. Those who stay
// keep theirs; what those who are gone held back is divided among those who stay, so that nothing
// of it is lost. Then all is multiplied by `scale`.
using Residuals = std::vector<std::vector<float>>;
Residuals fitted_residuals(const Residuals& before, const MemberChange& members, float scale = 1);

// The block of a worker whose encoders, numbered from 0, have each saved a part of it; `is_undone`:
// that before their last message.
std::vector<float> joined_residual(const State& encoders, bool is_undone = false);
// Those of all workers.
Residuals joined_residuals(const std::vector<State>& workers, const Refit& refit);
// The state of `parts` encoders, cut as chunk_of() cuts blocks, for the job's codec.
State cut_residual(const std::vector<float>& whole, int parts, const Job& job);

}  // namespace motley
