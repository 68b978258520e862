// Roster: what a coordinator knows of each process of its run: workers by rank, then servers. It
// decides who is still missing and who has been silent for too long. Pure: it is told the time.
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

// A worker, or a server.
struct ProcessState {
  pid_t pid = 0;      // of a process that was started here
  Seconds heard = 0;  // when it last gave a sign of life
  std::optional<Endpoint> endpoint;
  bool failed = false;      // and has said so
  bool introduced = false;  // it knows the others, and sends heartbeats from now on
  bool ready = false;
  Activity activity;  // as it last told
  std::optional<DoneInfo> done;
};

// How long to wait for a sign of life.
struct SilenceLimits {
  Seconds to_join = 0;
  Seconds heartbeat = 0;  // once introduced
};

struct Silence {
  Rank rank = kAnyRank;
  Seconds patience = 0;  // that it has exceeded
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
  // Who has not joined.
  std::vector<Rank> missing() const;

  // Everybody counts as heard at this moment.
  void hear_all(Seconds now);
  // For so long nobody could be heard: it does not count as silence.
  void excuse(Seconds duration);
  // Everybody has joined, and is told where the others are: by rank.
  std::vector<Endpoint> introduce(Seconds now);
  // Who has been silent for too long. Who has joined and is not introduced may be silent.
  std::vector<Silence> silent(Seconds now, const SilenceLimits& limits) const;

  // Once all are done: by rank.
  std::vector<DoneInfo> results() const;

 private:
  const int workers_;
  std::vector<ProcessState> processes_;
};

}  // namespace motley
