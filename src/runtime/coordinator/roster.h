// Roster: what the coordinator knows about each process of its run, by the number of the process:
// workers and servers, those who are members of the term under way and those who are about to join.
// It decides which are still missing and which have been silent for too long. Pure: time is passed
// in.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "motley/base/ids.h"
#include "motley/record/journal.h"
#include "runtime/run/control.h"
#include "runtime/run/outcome.h"

namespace motley {

// A worker or a server.
struct ProcessState {
  int id = 0;  // of a worker, or the number of a server; -1: it will get the lowest free id
  bool is_server = false;
  pid_t pid = 0;      // if it was started here
  Seconds heard = 0;  // when its last message arrived
  std::optional<Endpoint> endpoint;
  bool failed = false;      // it has reported a failure
  bool introduced = false;  // it knows the job, and sends heartbeats from now on
  bool loaded = false;      // data and model are loaded
  bool ready = false;       // the same, and it may become a member
  bool wants_to_leave = false;
  bool admitted = false;   // it takes part, at the latest from the next term on
  bool can_leave = false;  // it was told to leave: its exit is no loss
  bool dies_as_planned = false;
  Activity activity;      // last reported
  WorkerFigures figures;  // totals, last reported
  // Sent by the worker of this id before this process started, as far as its state says.
  std::int64_t bytes_before = 0;
  std::int64_t bytes_sent = 0;  // by this process, last told

  // The last request to reach others, and the answer: whom it does not reach.
  std::int64_t reach_number = 0;
  Seconds reach_asked = 0;
  std::vector<Rank> to_reach;
  std::optional<std::vector<Rank>> unreached;
  bool told_unreached = false;  // people know why it may not join yet

  // Of the term under way, or of the one that is being prepared:
  bool prepared = false;
  std::optional<TermEndInfo> term_end;  // set when the term is over for it
  std::optional<SettledInfo> settled;   // set when it has answered that the term is cut off
  std::optional<DoneInfo> done;
};

inline ProcessId id_of(const ProcessState& state) {
  return {state.is_server ? ProcessKind::kServer : ProcessKind::kWorker, state.id};
}

// How long a process may be silent.
struct SilenceLimits {
  Seconds to_join = 0;
  Seconds heartbeat = 0;  // once introduced; a blip of the network of almost so long is no silence
};

struct Silence {
  Rank process = kAnyRank;
  Seconds patience = 0;  // how long it has been silent, at least: the limit that was set
};

class Roster {
 public:
  // At first all processes are members, and their numbers are their ranks.
  Roster(int workers, int servers);

  bool contains(Rank process) const { return processes_.contains(process); }
  ProcessState& operator[](Rank process) { return processes_.at(process); }
  const ProcessState& operator[](Rank process) const { return processes_.at(process); }
  const std::map<Rank, ProcessState>& processes() const { return processes_; }
  ProcessState& add(Rank process, int id, bool is_server);
  void remove(Rank process);
  // "worker 3", "server 0"; "a newcomer" as long as it has no id
  std::string name(Rank process) const;

  // The members of the term, by rank: workers, then servers.
  const std::vector<Rank>& members() const { return members_; }
  // Forgets what it knew of an earlier term.
  void set_members(std::vector<Rank> members);
  bool is_member(Rank process) const { return std::ranges::count(members_, process) > 0; }
  bool is_worker(Rank process) const { return contains(process) && !(*this)[process].is_server; }
  // The process of this worker, if it is a member.
  std::optional<Rank> member_of(int worker) const;
  // The process of this worker or server, if it is one or will be one in the next term.
  std::optional<Rank> taking_part(ProcessId id) const;

  // Of those who are members: whether it holds for all of them that are still here.
  template <class Condition>
  bool all_members(Condition holds) const {
    return std::ranges::all_of(members_, [&](Rank process) {
      return !contains(process) || std::invoke(holds, (*this)[process]);
    });
  }
  bool all_joined() const { return missing().empty(); }
  bool all_ready() const { return all_members(&ProcessState::ready); }
  bool all_done() const {
    return all_members([](const ProcessState& each) { return each.done.has_value(); });
  }
  // The term is over for all.
  bool all_at_end_of_term() const {
    return all_members([](const ProcessState& each) { return each.term_end.has_value(); });
  }
  // A member is gone.
  bool is_broken() const {
    return !std::ranges::all_of(members_, [&](Rank process) { return contains(process); });
  }
  // Samples used by all workers, as far as any of them knows. Call if all_at_end_of_term().
  std::int64_t samples_used() const;
  // The members that have not joined.
  std::vector<Rank> missing() const;

  // Restarts the silence timers of all processes.
  void hear_all(Seconds now);
  // No messages could be handled for so long: this time does not count as silence.
  void excuse(Seconds duration);
  // The last look was so long ago. After more than kPause this process was stopped or starved: what
  // has arrived since may not have been read yet.
  static constexpr Seconds kPause = 0.2;
  void look_again_after(Seconds since, Seconds now);
  // Processes that have been silent for too long. Those that have joined but are not introduced yet
  // send no heartbeats, so they may be silent.
  std::vector<Silence> silent(Seconds now, const SilenceLimits& limits) const;

  // Results by rank. Call when all members are here and done.
  std::vector<DoneInfo> results() const;

 private:
  std::map<Rank, ProcessState> processes_;
  std::vector<Rank> members_;
};

// The machines of these names, numbered from 0 in the order in which they first occur.
std::vector<int> machines_of(const std::vector<std::string>& names);

}  // namespace motley
