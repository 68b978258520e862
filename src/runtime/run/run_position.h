// RunPosition: how far a run is when one of its terms ends; and the parts of a run's whole state,
// as a checkpoint holds them:
//
//   run       RunShape, RunPosition, RunLogic
//   service   of the method, on the coordinator
//   workers   by rank: training (Training::state()), replica (Replica::state())
//   servers   by number
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "motley/job/job.h"
#include "motley/sync/dealings.h"
#include "motley/sync/term.h"
#include "runtime/run/run_logic.h"
#include "state/state.h"

namespace motley {

// What a state has to fit: it is of a run with this method, workers, servers, codec and allocation.
// A run with others goes on from a fitted state (runtime/run/fit_state.h).
struct RunShape {
  std::string method;
  int workers = 0;
  int servers = 0;
  std::string codec;
  bool error_feedback = false;
  std::string allocation;

  friend bool operator==(const RunShape&, const RunShape&) = default;
  void state(Archive& archive);
};
RunShape shape_of(const Job& job);
// Of the run whose whole state this is. Throws StateError.
RunShape saved_shape(const State& run);

struct RunPosition {
  Term term;                             // the next one
  std::vector<int> ids;                  // of the workers, by rank (runtime/run/member_job.h)
  Seconds seconds = 0;                   // training time so far
  std::vector<std::int64_t> bytes_sent;  // by rank, servers included
  std::int64_t events = 0;               // of the simulator
  std::vector<MemberRecord> members;     // who was there (runtime/run/membership.h)
  Losses losses;
  // If the last term was cut off: of the workers, by rank, or empty; and updates of workers that
  // were lost which, as far as is known, only servers have.
  std::vector<OwnUpdates> own_updates;
  std::int64_t only_served = 0;

  // The term has ended in order after so many samples of the run.
  void end_term(const Job& job, std::int64_t training_samples, std::int64_t used);

  void state(Archive& archive);
};
// Before the first term of a run.
RunPosition first_position(const Job& job);

// Where a term that begins after so many samples ends: at the next multiple of the interval between
// checkpoints, if it is fixed.
std::int64_t end_of_term(const Job& job, std::int64_t begin);

// Where the state of one process is in a run's, if there are so many workers: rank counts workers,
// then servers.
std::string path_of_process(int workers, Rank rank);
State state_of_process(const State& run, const Job& job, Rank rank);
void put_state_of_process(State& run, const Job& job, Rank rank, State state);

// The part "run".
State save_position(const Job& job, RunPosition position, RunLogic& logic);
// Throws StateError: nothing can go on from there.
void throw_if_complete(const RunPosition& position, const RunLogic& logic);
// Of a run's whole state. Throws StateError if it does not fit the job.
void restore_position(const State& run, const Job& job, RunPosition& position, RunLogic& logic);

}  // namespace motley
