// Membership: which workers, or which servers, take part in a run, by id, and who did before. Ids
// last for the run; ranks count from 0 in every term, in the order of ids. Pure.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/cluster/spec.h"
#include "record/summary.h"
#include "sync/refit.h"

namespace motley {

// Why a member is gone that was not lost.
inline constexpr const char* kLeftInOrder = "left";

class Membership {
 public:
  // Processes 0 to `count` - 1 are there from the beginning.
  explicit Membership(int count, ProcessKind kind = ProcessKind::kWorker);

  ProcessKind kind() const { return kind_; }
  // Of those who are there, in order: the process of rank i has ids()[i].
  const std::vector<int>& ids() const { return ids_; }
  bool has(int id) const;
  int size() const { return static_cast<int>(ids_.size()); }
  // The lowest that nobody has.
  int lowest_free() const;

  void join(int id, Seconds at, const std::string& why);
  void leave(int id, Seconds at, const std::string& why);

  // How often somebody has joined or left.
  std::size_t changes() const { return changes_; }
  // Everybody who was there, in the order of joining.
  const std::vector<MemberRecord>& history() const { return history_; }
  // A run goes on from a checkpoint, with these. In the history only those of its kind count.
  void go_on(std::vector<int> ids, const std::vector<MemberRecord>& history, Seconds at);

 private:
  ProcessKind kind_;
  std::vector<int> ids_;
  std::vector<MemberRecord> history_;
  std::size_t changes_ = 0;
};

// Samples per second that the workers could have computed so far, each in the time in which it was
// there. nullopt if the members never changed, or the cluster is not paced.
std::optional<double> ideal_rate(const std::vector<MemberRecord>& history,
                                 const ClusterSpec& cluster, Seconds seconds);

// Who the members of a term are that has these ids, seen from one that had those before. Whoever
// was lost and came back under the same id is a newcomer. Ids ascend.
MemberChange change_of(const std::vector<int>& before, const std::vector<int>& now,
                       const std::set<int>& lost);

}  // namespace motley
