// StallWatch: notices that workers make no progress although nobody is lost, and says who waits for
// whom. It only tells: a stall may end by itself, for example when a link comes back. Pure: time is
// passed in.
//
//   watch.begin_term(now);
//   watch.on_waits(rank, info, now);       // again and again while the process waits
//   watch.on_progress(rank, now);          // it has finished a step
//   watch.on_heard(rank, now);             // any message of it
//   if (auto stall = watch.news({heartbeat, step}, name, now)) { ... }
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "motley/base/ids.h"
#include "runtime/run/wait_info.h"

namespace motley {

struct StallLimits {
  Seconds heartbeat = 0;
  Seconds step = 0;  // what a step of the slowest worker usually takes, as measured; 0: not known
};

struct Stall {
  Seconds seconds = 0;  // without progress
  std::string text;     // one line
  // Two workers that wait for each other, although each of them still reaches the coordinator:
  // perhaps they do not reach each other.
  std::optional<std::pair<Rank, Rank>> pair = {};
};

class StallWatch {
 public:
  static constexpr double kHeartbeats = 2;
  static constexpr double kSteps = 4;
  // Without progress for longer than this, workers are in a stall.
  static Seconds patience(const StallLimits& limits);

  // Workers have the ranks 0 to `workers` - 1. Servers may follow: they are only named as silent.
  StallWatch(int workers, int servers)
      : workers_(workers), processes_(static_cast<std::size_t>(workers + servers)) {}

  // Forgets what was reported. All processes count as heard, and as having made progress.
  void begin_term(Seconds now);
  // Ignores ranks that it does not know. Messages that have arrived since the last report are
  // progress as well: a step may consist of many.
  void on_waits(Rank rank, const WaitInfo& info, Seconds now);
  void on_progress(Rank rank, Seconds now);
  void on_heard(Rank rank, Seconds now);
  // It has nothing to do any more, or is lost.
  void on_finished(Rank rank);

  // The stall at this moment, if there is one: nobody makes progress, or two workers wait for each
  // other while others go on.
  using Name = std::function<std::string(Rank)>;
  std::optional<Stall> look(const StallLimits& limits, const Name& name, Seconds now) const;
  // The same, but again only after another patience() without progress.
  std::optional<Stall> news(const StallLimits& limits, const Name& name, Seconds now);

 private:
  struct Process {
    std::optional<WaitInfo> waits;
    Seconds waits_heard = 0;
    Seconds heard = 0;
    Seconds progress = 0;
    bool finished = false;
  };

  const Process& at(Rank rank) const { return processes_[static_cast<std::size_t>(rank)]; }
  Process* find(Rank rank);
  bool is_silent(Rank rank, const StallLimits& limits, Seconds now) const;
  // What a worker waits for; nothing if it computes, is silent or has finished.
  std::optional<Match> waits_for(Rank rank, const StallLimits& limits, Seconds now) const;
  std::optional<std::pair<Rank, Rank>> stuck_pair(const StallLimits& limits, Seconds now) const;
  std::vector<std::string> clauses(const StallLimits& limits, const Name& name, Seconds now,
                                   const std::optional<std::pair<Rank, Rank>>& pair) const;

  const int workers_;
  std::vector<Process> processes_;
  std::optional<Seconds> told_;  // when news() last told of this stall
};

}  // namespace motley
