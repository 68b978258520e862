// GapMeter: how far apart the iterations of workers were, at any moment of a run. Pure: no Node.
//
// Every worker tells when it began an iteration, by its own clock, and what they tell arrives in
// any order. The meter puts it in the order of time before it looks: what counts is where two
// workers were at the same moment, not what was heard of them.
//
// Whoever advances may have got farther ahead of anybody. The others are looked at in runs that lie
// side by side, seen from the one who advanced: a run can be passed over when the slowest of it is
// no farther behind than was known for the shortest way from it. On a graph that looks the same
// from everywhere (motley/cluster/graph.h: lanes) what is known of a run is one number for all who
// look.
//
// Cost: some dozens of runs per iteration, and all workers while gaps still grow. Memory: 50 bytes
// a worker, on a list of edges 20 bytes a pair of workers.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "base/least.h"
#include "motley/base/ids.h"
#include "motley/cluster/graph.h"

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
  // How often a worker that began an iteration was so many behind the one farthest ahead. What is
  // beyond the last entry counts there.
  const std::vector<std::int64_t>& behind() const { return behind_; }
  std::int64_t farthest_behind() const { return farthest_; }

 private:
  static constexpr Seconds kEver = 1e18;
  static constexpr std::int64_t kMostApart = 63;  // in the counts

  struct Event {
    Seconds at;
    std::int64_t iteration;
    Rank worker;

    auto operator<=>(const Event&) const = default;
  };
  // Who is ahead, while it is measured.
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

  const std::size_t places_;  // in a lane
  const std::size_t room_;    // for them: a power of two, so that runs end where lanes do
  // Shortest paths from the first worker of every lane to all workers.
  std::vector<std::vector<int>> paths_;
  // By lane and place, which is there twice, so that counting on from any place never turns round.
  Least<std::int64_t> iteration_;
  // By the lane of who is ahead: what is known, at least, for who is so many places on in a lane.
  std::vector<Least<std::int64_t>> known_;
  Least<Seconds> heard_;  // by worker, the moment of its last news
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;  // not applied yet
  Seconds end_ = kEver;      // when the first one left
  std::vector<Rank> moved_;  // at the moment under way
  std::vector<std::int64_t> by_distance_;
  std::int64_t newest_ = 0;  // iteration of anybody
  std::vector<std::int64_t> behind_;
  std::int64_t farthest_ = 0;
};

}  // namespace motley
