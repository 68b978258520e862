// Controller: ready signals in, groups out (Miao et al., SIGMOD 2021, partial reduce). Pure: no
// Node, no clock; service.cc carries its messages.
//
//   controller.ready(worker, iteration, now);   // or finished(), when there is no work left for it
//   while (auto group = controller.next_group(now)) { ... tell its members ... }
//
// Its parts, by the paper's names: a queue of ready signals, first come, first served; the group
// filter over the history of groups (sync_graph.h); the weight generator (weights.h). How many make
// a group, and when, is a policy (group_policy.h).
//
// The filter keeps every worker connected with every other one through the groups of any `window`
// in a row. A group leaves the window with every group that enters it, and may have been all that
// held as many parts of the cluster together as it has members: then the next group must have a
// member of each of them. Who is ready waits until such a group can be had; it always can, as
// nobody computes forever. At the beginning all models are equal, so only by the end of the first
// window must the groups have connected everybody: until then the filter asks no more than that
// enough groups are left to do it.
//
// Who must wait when the window ends, may have to wait for a slow worker for as long as that takes.
// So half a window before, groups that connect are welcome: who is in a smaller part waits for
// somebody of another one, if that will not take long, and no longer. Once a worker has finished
// its last iteration, nobody waits for a connection any more: the last group, of all, is near.
//
// Cost of a signal: a look at its worker's component. Of a group: the same for those who wait,
// until enough parts are found, and one look at every worker where it has to be weighed who waits
// for whom.
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

namespace motley {

struct GroupRules {
  int workers = 0;
  int group = 2;            // P, the members of a group; a policy may make larger or smaller ones
  std::int64_t window = 0;  // T, groups: enough to connect all workers, (N - 1) / (P - 1) or more
  bool filter = true;
  Weighting weighting = Weighting::kConstant;
  double alpha = 1;
};

// Members average their models with these weights, and go on from these iterations.
struct Group {
  std::vector<Rank> members;             // in order of their ranks
  std::vector<double> weights;           // one per member
  std::vector<std::int64_t> staleness;   // iterations that each member was behind the newest
  std::vector<std::int64_t> iterations;  // one per member
  std::string_view reason;
  bool last = false;  // of the run, and of all workers; no part of the statistics
};

// What the groups came to.
struct GroupStatistics {
  static constexpr std::int64_t kStalest = 63;

  std::int64_t groups = 0;
  std::int64_t members = 0;    // of all groups together
  std::int64_t bridges = 0;    // groups that connected what the filter asked for
  std::int64_t staleness = 0;  // iterations behind the newest member, of all together
  std::int64_t largest_staleness = 0;
  // How often a member was so many behind; more than kStalest counts as that.
  std::vector<std::int64_t> staleness_counts;
  std::int64_t largest_gap = 0;  // between the iterations of any two workers
  // The largest number of groups in a row that it took to connect all workers; none: never.
  std::optional<std::int64_t> longest_window;
};

class Controller {
 public:
  // Without a policy: groups of P.
  explicit Controller(const GroupRules& rules, std::unique_ptr<GroupPolicy> policy = nullptr);

  // The worker has done this iteration and waits for a group. It does not wait already.
  void ready(Rank worker, std::int64_t iteration, Seconds now);
  // It was its last iteration: the worker waits for the end of the run.
  void finished(Rank worker, std::int64_t iteration, Seconds now);
  bool is_waiting(Rank worker) const;

  // A group that may leave now; nullopt: none before somebody else is ready, or patience_until().
  // When nobody else can be ready, whoever waits may go; when all have finished, all of them are
  // the last group.
  std::optional<Group> next_group(Seconds now);
  // When next_group() has none: the moment at which it should be asked again if nobody comes
  // before.
  Seconds patience_until() const { return patience_until_; }
  static constexpr Seconds kForever = 1e18;

  const GroupStatistics& statistics() const { return statistics_; }

 private:
  struct Ready {
    Rank worker;
    std::int64_t iteration;
  };
  using Queue = std::vector<Ready>;

  // When a worker was ready for the last time, and how long after the time before.
  struct Pulse {
    Seconds last = 0;
    Seconds period = 0;
  };

  void note(Rank worker, std::int64_t iteration, Seconds now);
  ReadyQueue ready_queue() const;
  std::size_t still_to_come() const;
  // What the filter wants of the next group.
  struct Demand {
    int parts = 0;            // components of the sync-graph that it has members of
    std::int64_t window = 0;  // of so many groups
    bool strict = false;      // or else it has to wait
  };
  // The sync-graph of a window, in parts.
  struct Parts {
    std::int64_t groups = -1;  // that there were then
    std::int64_t window = 0;
    std::vector<Rank> component_of;  // by worker
    std::vector<int> size_of;        // by a component's name
    int largest = 0;                 // size of a component
    int second = 0;                  // of the largest but one; the same when there are two
  };
  // Components of those who wait, from the first in the queue on: who comes is added, and all
  // begins anew when a group has left.
  struct Seen {
    std::int64_t groups = -1;
    std::int64_t window = 0;
    std::size_t places = 0;  // in the queue
    std::set<Rank> components;
  };
  Demand demand_of_filter() const;
  // Whether those who wait are of as many components as demanded.
  bool has_parts(const Demand& demand);
  bool is_worth_waiting(const Demand& demand);
  const Parts& parts_of(std::int64_t window);
  Seconds end_of_patience() const;
  std::vector<std::size_t> choose(std::size_t size, const Demand& demand);
  Queue take(const std::vector<std::size_t>& places);
  Group group_of(Queue members, std::string_view reason);
  void count(const Group& group);
  void track_connection();

  const GroupRules rules_;
  const std::unique_ptr<GroupPolicy> policy_;
  Queue queue_;                             // who waits for a group, in the order of their signals
  Queue finished_;                          // who waits for the end
  std::vector<std::int64_t> iteration_of_;  // by worker, as last heard
  std::int64_t newest_ = 0;                 // of them
  std::vector<Pulse> pulse_of_;             // by worker
  std::vector<bool> waits_;                 // by worker, in either queue
  Seconds now_ = 0;                         // when a group was last asked for
  Seconds patience_until_ = kForever;
  SyncGraph graph_;
  Parts parts_;  // as last asked for
  Seen seen_;
  bool ever_connected_ = false;
  std::int64_t longest_window_ = 0;  // so far, whether it ended connected or not
  GroupStatistics statistics_;
};

}  // namespace motley
