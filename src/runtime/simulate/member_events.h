// MemberEvents: what happens to the members of a simulated run: the events of the job and of its
// churn (cluster/fault_plan.h), and what follows from them: whoever is frozen for longer than the
// heartbeat is lost, and comes back when it thaws; a lost worker is started again. (A lost server
// is replaced at once, by whoever asks.) Pure.
//
//   const Outlook outlook = events.outlook(members);
//   ... a term, until outlook.loss or some time after outlook.change ...
//   while (const auto event = events.next(now, members)) {
//     ... it has happened: change the members ...
//   }
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "cluster/fault_plan.h"
#include "runtime/run/present.h"

namespace motley {

// A time in which a process stands still.
struct FrozenTime {
  ProcessId process;
  Seconds from = 0;
  Seconds until = 0;

  void state(Archive& archive);
};

// What will happen to the members of a term.
struct Outlook {
  std::optional<Seconds> loss;    // of the first member that will be lost
  std::optional<Seconds> change;  // when the term should end in order: somebody comes or leaves
  std::vector<FrozenTime> frozen;
};

class MemberEvents {
 public:
  explicit MemberEvents(const ClusterSpec& cluster);

  // Whether the job has such events at all. Call it first.
  bool any() { return plan_.peek() != nullptr; }
  Outlook outlook(const Present& members);
  // The next event up to now: kDies, kLeaves, or kJoins with the id to join under. Whoever leaves
  // does so at the end of a term that ends in order.
  std::optional<ClusterEvent> next(Seconds now, const Present& members, bool is_in_order = true);
  // A worker that was lost at this time is started again, if it may be.
  void respawn(int id, Seconds at);
  // When somebody will come next, looking no further than `until`.
  std::optional<Seconds> next_join(Seconds until);

  // What the plan has until then has happened.
  void skip_until(Seconds now);
  // How far the events have come.
  void state(Archive& archive);

 private:
  // Comes back under its id, unless that is taken meanwhile.
  struct Return {
    int id = 0;
    Seconds at = 0;

    void state(Archive& archive);
  };

  void pull();
  std::vector<FrozenTime> freezes_of(const Present& members) const;
  std::optional<FrozenTime> first_silence(const std::vector<FrozenTime>& frozen) const;
  std::optional<ClusterEvent> lose_silent(const FrozenTime& silent);
  std::optional<ClusterEvent> apply_planned(const Present& members, bool is_in_order);
  void freeze(const FrozenTime& time);
  std::optional<ClusterEvent> take_leaving(const Present& members);

  FaultPlan plan_;
  const Seconds heartbeat_;
  const int respawns_most_;
  Seconds taken_until_ = -1;         // events of the plan up to then have happened
  std::deque<ClusterEvent> pulled_;  // of the plan, those that come next
  std::vector<FrozenTime> frozen_;   // that have begun, of members
  std::vector<Return> returns_;
  std::vector<int> leaving_;     // workers that could not leave yet, because the term was cut off
  std::map<int, int> respawns_;  // how often each worker was started again
};

}  // namespace motley
