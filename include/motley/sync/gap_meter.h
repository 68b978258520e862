// GapMeter: how far apart the iterations of workers were, at any time of a run. Pure: no Node.
//
// Every worker reports when it began an iteration, by its own clock, and reports arrive in any
// order. The meter sorts them by time before it measures: a gap is between two workers at the same
// time, not between the latest reports.
//
// A worker that advances may now be farther ahead of any other. The others are examined in runs of
// neighbouring places, relative to the one that advanced: a run can be skipped if its slowest
// worker is no farther behind than the gap already known for the shortest path from it. On a graph
// that looks the same from everywhere (motley/cluster/graph.h: lanes) what is known about a run is
// one number for all workers of a lane.
//
// Cost: a few dozen runs per iteration, and all workers while gaps still grow. Memory: 50 bytes per
// worker; for a list of edges 20 bytes per pair of workers.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "motley/base/ids.h"
#include "motley/base/least.h"
#include "motley/cluster/graph.h"
#include "motley/state/archive.h"

namespace motley {

class GapMeter {
 public:
  // Without a graph: all pairs count as one distance.
  explicit GapMeter(int workers);
  // Sorts gaps by paths on this graph, which must be strongly connected.
  explicit GapMeter(const Graph& graph);

  // The worker began this iteration at time `at`. The times of a worker must not decrease.
  void begins(Rank worker, std::int64_t iteration, Seconds at);
  // The worker is done. Nothing counts after this time, because a worker that has left holds nobody
  // back.
  void leaves(Rank worker, Seconds at);

  // The largest gap between i and j, with i ahead, by the length of the shortest path from j to i.
  // The first entry is for neighbours. Complete when all have left.
  const std::vector<std::int64_t>& by_distance() const { return by_distance_; }
  std::int64_t largest() const;
  // How often a worker that began an iteration was this many iterations behind the farthest. The
  // last entry also counts everything beyond.
  const std::vector<std::int64_t>& behind() const { return behind_; }
  std::int64_t farthest_behind() const { return farthest_; }

  // What was measured. Iterations count from 0 again in every term.
  void state(Archive& archive);

 private:
  static constexpr Seconds kEver = 1e18;
  static constexpr std::int64_t kMostApart = 63;  // the last entry of the counts

  struct Event {
    Seconds at;
    std::int64_t iteration;
    Rank worker;

    auto operator<=>(const Event&) const = default;
  };
  // The worker that is ahead, while it is measured.
  struct Ahead {
    std::size_t lane;
    std::size_t place;
    std::int64_t iteration;
  };

  void apply_what_is_certain();
  void set_iteration(Rank worker, std::int64_t iteration);
  void measure(Rank ahead);
  void count_behind(Rank worker);
  void look_at(const Ahead& ahead, int level, std::size_t run);
  std::int64_t slowest_of(const Ahead& ahead, int level, std::size_t run) const;
  void note(const Ahead& ahead, std::size_t step, std::int64_t gap);

  const std::size_t places_;  // per lane
  const std::size_t room_;  // places rounded up to a power of two, so that runs end where lanes do
  // Shortest paths from the first worker of every lane to all workers.
  std::vector<std::vector<int>> paths_;
  // By lane and place; each lane is stored twice, so that counting on from any place never wraps.
  Least<std::int64_t> iteration_;
  // By the lane of the worker ahead: the gap known at least for a worker this many places on in a
  // lane.
  std::vector<Least<std::int64_t>> known_;
  Least<Seconds> heard_;  // by worker, the time of its latest news
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;  // not applied yet
  Seconds end_ = kEver;      // when the first worker left
  std::vector<Rank> moved_;  // at the current time
  std::vector<std::int64_t> by_distance_;
  std::int64_t newest_ = 0;  // highest iteration of any worker
  std::vector<std::int64_t> behind_;
  std::int64_t farthest_ = 0;
};

}  // namespace motley
