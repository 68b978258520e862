// GapMeter: how far apart the iterations of workers were, at any moment of a run. Pure: no Node.
//
// Every worker tells when it began an iteration, by its own clock, and what they tell arrives in
// any order. The meter puts it in the order of time before it looks: what counts is where two
// workers were at the same moment, not what was heard of them.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/ids.h"
#include "cluster/graph.h"

namespace motley {

class GapMeter {
 public:
  // Without a graph: all gaps are of one distance.
  explicit GapMeter(int workers);
  // Sorted by paths on this graph, which is strongly connected.
  explicit GapMeter(const Graph& graph);

  // At this moment the worker began this iteration; its moments never go back.
  void begins(Rank worker, std::int64_t iteration, Seconds at);
  // It has done its part. From this moment on nothing counts: who has left holds nobody back.
  void leaves(Rank worker, Seconds at);

  // The largest gap between i and j, i ahead, by the length of the shortest path from j to i. The
  // first entry is for neighbours. Complete when all have left.
  const std::vector<std::int64_t>& by_distance() const { return by_distance_; }
  std::int64_t largest() const;

 private:
  static constexpr Seconds kEver = 1e18;

  struct Event {
    Seconds at;
    std::int64_t iteration;
    Rank worker;

    auto operator<=>(const Event&) const = default;
  };

  void apply_what_is_certain();
  void measure(Rank ahead);

  std::vector<std::vector<int>> paths_;  // from a worker to every other one; none: all the same
  std::vector<std::int64_t> iteration_;  // by worker, at the moment that the meter has come to
  std::vector<Seconds> heard_;           // by worker, the moment of its last news
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;  // not applied yet
  Seconds end_ = kEver;      // when the first one left
  std::vector<Rank> moved_;  // at the moment under way
  std::vector<std::int64_t> by_distance_;
};

}  // namespace motley
