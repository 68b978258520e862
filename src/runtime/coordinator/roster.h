// Roster: what the coordinator knows about each process of its run: workers by rank, then servers.
// It decides which are still missing and which have been silent for too long. Pure: time is passed
// in.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "motley/base/ids.h"
#include "motley/record/journal.h"
#include "runtime/run/outcome.h"

namespace motley {

// A worker or a server.
struct ProcessState {
  pid_t pid = 0;      // if it was started here
  Seconds heard = 0;  // when its last message arrived
  std::optional<Endpoint> endpoint;
  bool failed = false;      // it has reported a failure
  bool introduced = false;  // it knows the others' addresses, and sends heartbeats from now on
  bool ready = false;
  Activity activity;  // last reported
  std::optional<DoneInfo> done;
};

// How long a process may be silent.
struct SilenceLimits {
  Seconds to_join = 0;
  Seconds heartbeat = 0;  // once introduced
};

struct Silence {
  Rank rank = kAnyRank;
  Seconds patience = 0;  // the limit that it has exceeded
};

class Roster {
 public:
  Roster(int workers, int servers)
      : workers_(workers), processes_(static_cast<std::size_t>(workers + servers)) {}

  int size() const { return static_cast<int>(processes_.size()); }
  bool contains(Rank rank) const { return rank >= 0 && rank < size(); }
  bool is_worker(Rank rank) const { return rank >= 0 && rank < workers_; }
  ProcessState& operator[](Rank rank) { return processes_[static_cast<std::size_t>(rank)]; }
  const ProcessState& operator[](Rank rank) const {
    return processes_[static_cast<std::size_t>(rank)];
  }
  // "worker 3", "server 0"
  std::string name(Rank rank) const;

  bool all_joined() const { return missing().empty(); }
  bool all_ready() const { return std::ranges::all_of(processes_, &ProcessState::ready); }
  bool all_done() const {
    return std::ranges::all_of(processes_, [](const auto& each) { return each.done.has_value(); });
  }
  // The ranks that have not joined.
  std::vector<Rank> missing() const;

  // Restarts the silence timers of all processes.
  void hear_all(Seconds now);
  // No messages could be handled for so long: this time does not count as silence.
  void excuse(Seconds duration);
  // Call when all have joined: marks them as introduced, and returns their endpoints by rank.
  std::vector<Endpoint> introduce(Seconds now);
  // Processes that have been silent for too long. Those that have joined but are not introduced yet
  // send no heartbeats, so they may be silent.
  std::vector<Silence> silent(Seconds now, const SilenceLimits& limits) const;

  // Results by rank. Call when all are done.
  std::vector<DoneInfo> results() const;

 private:
  const int workers_;
  std::vector<ProcessState> processes_;
};

// The machines of these names, numbered from 0 in the order in which they first occur.
std::vector<int> machines_of(const std::vector<std::string>& names);

}  // namespace motley
