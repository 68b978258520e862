// PlannedFaults: what the job wants to happen to the workers and servers of a real run that the
// coordinator has started itself: the events of the job and of its churn (cluster/fault_plan.h), as
// actions with their times. runtime/simulate/member_events.h is the same for simulated runs. Pure:
// time and who is there are passed in.
//
//   while (const auto fault = faults.next(now, members)) {
//     ... do it ...
//   }
//
// What follows from it happens by itself. One exception: whoever is frozen for so long that it is
// lost comes back when it would have thawed, as one process on a machine that stood still.
#pragma once

#include <set>
#include <vector>

#include "cluster/fault_plan.h"
#include "runtime/run/present.h"

namespace motley {

struct PlannedFault {
  enum class Action {
    kKill,
    kFreeze,
    kThaw,
    kAskToLeave,
    kStart  // a worker that is to join under this id
  };
  Seconds at = 0;
  Action action = Action::kKill;
  ProcessId process;
};

class PlannedFaults {
 public:
  explicit PlannedFaults(const ClusterSpec& cluster) : plan_(cluster), workers_(cluster.workers) {}

  // The run goes on from a checkpoint of this time, when these workers were there. What the plan
  // has until then is not repeated. All workers of the job are started, so those that were gone
  // come before their time: if the plan has their return next, that is left out. Workers with other
  // ids are started at once.
  void resume(Seconds now, const std::set<int>& were_there);
  // Whether next() has something to look at.
  bool is_due(Seconds now);
  // The next thing to do of those whose time has come.
  std::optional<PlannedFault> next(Seconds now, const Present& members);
  // Somebody who was there is lost, however that came. Returns whether a worker comes back by
  // itself, so that it need not be started again.
  bool lose(ProcessId process);

 private:
  std::optional<PlannedFault> take_planned(const Present& members);
  std::optional<PlannedFault> freeze(const ClusterEvent& event);
  std::vector<PlannedFault>::iterator thaw_of(ProcessId process);

  FaultPlan plan_;
  const int workers_;
  std::vector<PlannedFault> following_;  // from what was done: thaws, and returns of workers
  std::set<int> came_early_;             // whose return may be planned next
};

}  // namespace motley
