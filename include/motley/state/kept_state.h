// KeptState: what a part of a method keeps from one term of a run to the next (motley/sync/term.h).
//
//   Service service(context);
//   KeptState::restore(context.kept, service);      // does nothing in the first term
//   KeptState::save_after(context.kept, service, [&] { ... the term ... });
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
      kept->clear();
      Archive archive = Archive::saving(kept->state());
      object.state(archive);
    }
  }

  // Runs `body`, which may end with an exception because the term is cut off, and saves.
  template <class T, class Body>
  static void save_after(KeptState* kept, T& object, Body body) {
    try {
      body();
    } catch (...) {
      save(kept, object);
      throw;
    }
    save(kept, object);
  }

  bool empty() const;
  void clear();
  State& state() { return *state_; }
  const State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

}  // namespace motley
