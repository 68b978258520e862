// DeadlockWatch: notices that a run can never end, because each of its processes waits for a
// message that nobody will send. This is always a mistake in a method. Pure: time is passed in.
//
//   watch.hear(rank, info, now);     // again and again while the process waits
//   if (watch.is_stuck(now)) { ... }
//
// It cannot be wrong about a slow run: it needs two reports from each process, the second one after
// the first of every other process, with the same counts of messages, and as many messages arrived
// as were sent. So there was a moment at which all processes waited and no message was under way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/job/job.h"
#include "runtime/coordinator/roster.h"
#include "runtime/run/wait_info.h"

namespace motley {

class DeadlockWatch {
 public:
  static constexpr Seconds kStill = 2;  // for so long nothing has moved
  static constexpr Seconds kFresh = 1;  // a report is valid for so long

  // A term begins with these processes; the coordinator takes part too.
  void begin_term(const std::vector<Rank>& processes);
  // What a process waits for; nothing if it does not wait, or if its message was damaged. It may be
  // kCoordinator; who is not in the term is not heard. Returns whether there was anything to hear.
  bool hear(Rank process, const std::optional<WaitInfo>& info, Seconds now);
  bool is_stuck(Seconds now) const;
  // Who waits for what. Call if is_stuck().
  std::string report(const Job& job, const Roster& roster, Seconds now) const;

 private:
  struct Report {
    WaitInfo info;
    Seconds since = 0;   // when these counts were first heard
    Seconds latest = 0;  // when they were last heard
  };

  std::map<Rank, std::optional<Report>> reports_;  // by process
};

}  // namespace motley
