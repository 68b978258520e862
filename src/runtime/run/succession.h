// Succession: what the next term of a run begins with, if other workers or servers take part in it
// than in the last one. Pure: a simulation and the coordinator of a real run carry out what it
// says.
//
//   const EndedTerm ended{.run = run, .job = job, .members = before, .lost = lost,
//                         .cut_off = what_follows(...)};       // nothing if it ended in order
//   ... collect the states of all who are left; models only of models_needed(ended, now) ...
//   const State next = state_of_successors(state, ended, now, training_samples);
//   const Job term = job_of(run, now);
//
// In the state of a run, what somebody has not sent is empty. Whoever stays and finds no model in
// its part of the next state keeps the one that it has.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "motley/base/ids.h"
#include "motley/job/job.h"
#include "motley/record/journal.h"
#include "record/record_place.h"
#include "runtime/run/fit_state.h"
#include "runtime/run/run_position.h"
#include "runtime/run/what_follows.h"
#include "state/state.h"

namespace motley {

// Who takes part in a term: ids, ascending. Place i in the list is worker i, or server i, of the
// term.
struct TermMembers {
  std::vector<int> workers;
  std::vector<int> servers;

  friend bool operator==(const TermMembers&, const TermMembers&) = default;
};

// Of those who are there, ids ascending.
TermMembers members_of_term(const Job& run, const std::vector<int>& workers,
                            const std::vector<int>& servers);
Job job_of(const Job& run, const TermMembers& members);
// Where this rank of the term is in the record of the run.
RecordPlace record_place(const TermMembers& members, Rank rank);
// In the journal of a member, ranks of the term become places.
void put_in_places(JournalEntries& entries, const TermMembers& members);
Activity in_place(Activity activity, const TermMembers& members);
// Of the ids, those of one kind.
std::set<int> of_kind(const std::set<ProcessId>& processes, ProcessKind kind);

// A term that is over.
struct EndedTerm {
  const Job& run;  // of the whole run
  const Job& job;  // of the term
  TermMembers members;
  std::set<ProcessId> lost = {};                       // of them
  std::optional<Continuation> cut_off = std::nullopt;  // unless it has ended in order

  bool has_lost(ProcessKind kind, int id) const { return lost.contains({kind, id}); }
};

// What each process of the next term was in this one. Whoever was lost and is there again is a
// newcomer.
StateChange change_after(const EndedTerm& ended, const TermMembers& next);

// Whose models are needed for the next state, by rank of the ended term; of all others the rest of
// the state is enough. Those of workers that were lost cannot be had.
std::vector<bool> models_needed(const EndedTerm& ended, const TermMembers& next);

// `state` is that of the run at the end of the ended term. What it has of those who were lost does
// not matter, except a worker's totals ("training.result"), if they are known. Those who are behind
// get the newest model. Throws StateError if the state is damaged, and std::invalid_argument.
State state_of_successors(State state, const EndedTerm& ended, const TermMembers& next,
                          std::int64_t training_samples);

// The position of a run after a term that was cut off: like RunPosition::end_term(), but what was
// not used is still to be dealt.
void cut_term_off(RunPosition& position, const Job& job, std::int64_t training_samples,
                  const Continuation& next);

}  // namespace motley
