// CheckpointAssembly: puts the state of a run together from what its processes send, while training
// goes on. Pure: it uses no thread, socket or clock.
//
//   CheckpointAssembly assembly(job, samples, state, processes);      // at the end of a term
//   if (!assembly.add(process, chunk)) { ... the sender is wrong ... }
//   if (assembly.complete()) { State state = assembly.take(); }
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/run/state_stream.h"
#include "state/state.h"

namespace motley {

class CheckpointAssembly {
 public:
  // `own`: what the coordinator itself knows, the parts "run" and "service"; `processes`: the
  // members of the term by rank, workers first.
  CheckpointAssembly(int workers, std::int64_t samples, State own,
                     const std::vector<Rank>& processes);

  // A chunk of the state of this process. False if it is damaged, or if nothing more is expected
  // from it.
  bool add(Rank process, std::span<const std::byte> chunk);
  bool complete() const { return missing_.empty(); }
  std::int64_t samples() const { return samples_; }
  // Call if complete().
  State take() { return std::move(state_); }

 private:
  struct Part {
    Rank rank = 0;
    IncomingState state;
  };

  const int workers_;
  const std::int64_t samples_;
  State state_;
  std::map<Rank, Part> missing_;  // by process
};

}  // namespace motley
