// Controller: forms groups from ready signals (Miao et al., SIGMOD 2021, partial reduce). Pure: no
// Node, no clock; service.cc sends and receives the messages.
//
//   controller.ready(worker, iteration, now);   // or finished(), if there is no work left for it
//   while (auto group = controller.next_group(now)) { ... tell its members ... }
//
// Its parts, with the paper's names: the queue of ready signals, first come, first served; the
// group filter, which looks at the history of groups (sync_graph.h); the weight generator
// (weights.h). A policy (group_policy.h) decides when a group leaves and how large it is.
//
// The filter ensures that any `window` groups in a row connect all workers, directly or through
// others. When a new group enters the window, the oldest one leaves it. If only that group
// connected some parts of the cluster, the new group must have a member of each of these parts.
// Ready workers wait until such a group is possible, which happens eventually because every worker
// becomes ready. At the beginning all models are equal, so the groups need to connect all workers
// only by the end of the first window. Until then the filter requires only that the remaining
// groups can still do so.
//
// A worker that must wait at the end of a window may have to wait long for a slow one. So the
// filter begins half a window earlier to prefer groups that connect parts: a worker of a smaller
// part then waits for a worker of another part, but only if that takes a short time. Once a worker
// has finished its last iteration, no worker waits for a connection any more, because the final
// average of all workers is near.
//
// Cost of a signal: looking up its worker's component. Cost of a group: the same for the waiting
// workers, until enough parts are found; and a pass over all workers when the controller decides
// whether waiting is worth it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "motley/base/ids.h"
#include "sync/partial_reduce/group_policy.h"
#include "sync/partial_reduce/sync_graph.h"
#include "sync/partial_reduce/weights.h"
#include "sync/refit.h"

namespace motley {

struct GroupRules {
  int workers = 0;
  int group = 2;            // P, workers in a group; a policy may make larger or smaller groups
  std::int64_t window = 0;  // T, in groups; at least (N - 1) / (P - 1), to connect all workers
  bool filter = true;
  Weighting weighting = Weighting::kConstant;
  double alpha = 1;
};

// The members average their models with these weights and continue from these iterations.
struct Group {
  std::vector<Rank> members;             // sorted by rank
  std::vector<double> weights;           // one per member
  std::vector<std::int64_t> staleness;   // iterations by which each member is behind the newest
  std::vector<std::int64_t> iterations;  // one per member
  std::string_view reason;
  bool last = false;  // all workers, at the end of the term; not counted in the statistics
};

// Statistics over all groups.
struct GroupStatistics {
  static constexpr std::int64_t kStalest = 63;

  std::int64_t groups = 0;
  std::int64_t members = 0;    // sum over all groups
  std::int64_t bridges = 0;    // groups that connected parts as the filter required
  std::int64_t staleness = 0;  // iterations behind the newest member, summed over all members
  std::int64_t largest_staleness = 0;
  // staleness_counts[i]: how often a member was i iterations behind; the last entry is for kStalest
  // or more.
  std::vector<std::int64_t> staleness_counts;
  std::int64_t largest_gap = 0;  // between the iterations of any two workers
  // The largest number of consecutive groups that was needed to connect all workers; nullopt if
  // they were never connected.
  std::optional<std::int64_t> longest_window;

  void state(Archive& archive);
};

class Controller {
 public:
  // By default, the policy makes groups of P.
  explicit Controller(const GroupRules& rules, std::unique_ptr<GroupPolicy> policy = nullptr);

  // The worker has done this iteration and waits for a group. It must not be waiting already.
  void ready(Rank worker, std::int64_t iteration, Seconds now);
  // The worker has done its last iteration and waits for the end of the term.
  void finished(Rank worker, std::int64_t iteration, Seconds now);
  bool is_waiting(Rank worker) const;

  // A group that may leave now; nullopt if there is none until another worker is ready or until
  // patience_until(). If no other worker can become ready, the waiting ones may leave. When all
  // have finished, all workers are the last group.
  std::optional<Group> next_group(Seconds now);
  // After next_group() returned nullopt: the time at which to call it again if no worker becomes
  // ready before.
  Seconds patience_until() const { return patience_until_; }
  static constexpr Seconds kForever = 1e18;

  const GroupStatistics& statistics() const { return statistics_; }

  // Iterations, the history of groups and the statistics; nobody waits between two terms.
  void state(Archive& archive);
  // Changes a saved state to fit other workers, and returns the newest iteration of those who stay.
  // Which workers have averaged with each other begins anew.
  static std::int64_t fit(State& controller, const MemberChange& members);

 private:
  struct Ready {
    Rank worker;
    std::int64_t iteration;
  };
  using Queue = std::vector<Ready>;

  // When a worker was last ready, and the time between its last two signals.
  struct Pulse {
    Seconds last = 0;
    Seconds period = 0;

    // The time between the last signal of a term and the first of the next is not a period.
    void state(Archive& archive) {
      archive("period", period);
      last = archive.is_saving() ? last : kUnknown;
    }
    static constexpr Seconds kUnknown = -1;
  };

  void note(Rank worker, std::int64_t iteration, Seconds now);
  ReadyQueue ready_queue() const;
  std::size_t still_to_come() const;
  // What the filter requires of the next group.
  struct Demand {
    int parts = 0;            // it must have members of this many components of the sync-graph
    std::int64_t window = 0;  // the sync-graph of this many last groups
    bool strict = false;      // the group must wait until this is met
  };
  // The components of the sync-graph of a window.
  struct Parts {
    std::int64_t groups = -1;  // number of groups when this was computed
    std::int64_t window = 0;
    std::vector<Rank> component_of;  // by worker
    std::vector<int> size_of;        // by component
    int largest = 0;                 // size of the largest component
    int second = 0;  // size of the second largest; equal to `largest` if two are that large
  };
  // The components of the waiting workers, beginning with the first in the queue. New workers are
  // added; it is reset when a group leaves.
  struct Seen {
    std::int64_t groups = -1;
    std::int64_t window = 0;
    std::size_t places = 0;  // of the queue that have been looked at
    std::set<Rank> components;
  };
  Demand demand_of_filter() const;
  // True if the waiting workers belong to as many components as required.
  bool has_parts(const Demand& demand);
  bool is_worth_waiting(const Demand& demand);
  const Parts& parts_of(std::int64_t window);
  Seconds end_of_patience() const;
  std::vector<std::size_t> choose(std::size_t size, const Demand& demand);
  Queue take(const std::vector<std::size_t>& places);
  Group group_of(Queue members, std::string_view reason);
  Group last_group();
  void go_on_from_newest(Group& group);
  void count(const Group& group);
  void track_connection();

  const GroupRules rules_;
  const std::unique_ptr<GroupPolicy> policy_;
  Queue queue_;     // workers waiting for a group, in the order of their signals
  Queue finished_;  // workers waiting for the end of the term
  std::vector<std::int64_t> iteration_of_;  // by worker, as last reported
  std::int64_t newest_ = 0;                 // the largest of them
  std::vector<Pulse> pulse_of_;             // by worker
  std::vector<bool> waits_;                 // by worker, in either queue
  Seconds now_ = 0;                         // time of the last call of next_group()
  Seconds patience_until_ = kForever;
  SyncGraph graph_;
  Parts parts_;  // for the last window that was asked for
  Seen seen_;
  bool ever_connected_ = false;
  std::int64_t longest_window_ = 0;  // so far, including windows that are not connected yet
  GroupStatistics statistics_;
};

}  // namespace motley
