// KeptState: what a part of a method keeps from one term of a run to the next (motley/sync/term.h).
//
//   Service service(context);
//   KeptState::restore(context.kept, service);      // does nothing in the first term
//   ... the term ...
//   KeptState::save(context.kept, service);
#pragma once

#include <memory>

#include "motley/state/archive.h"

namespace motley {

class KeptState {
 public:
  KeptState();  // empty: the first term
  explicit KeptState(State state);
  ~KeptState();
  KeptState(const KeptState&) = delete;
  KeptState& operator=(const KeptState&) = delete;

  // Both do nothing if `kept` is null: then nobody asks for the state.
  template <class T>
  static void restore(const KeptState* kept, T& object) {
    if (kept && !kept->empty()) {
      Archive archive = Archive::restoring(kept->state());
      object.state(archive);
    }
  }
  template <class T>
  static void save(KeptState* kept, T& object) {
    if (kept) {
      Archive archive = Archive::saving(kept->state());
      object.state(archive);
    }
  }

  bool empty() const;
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace motley
