// SyncGraph: which workers have recently averaged with each other, directly or through others.
//
// Its vertices are the workers; every group joins its members (Miao et al., SIGMOD 2021: the
// sync-graph). Only the most recent joins matter, so the graph keeps a maximum spanning forest by
// recency: a join that closes a cycle replaces the oldest join of the cycle. The forest gives the
// components of the last n groups for any n.
//
// Cost: a join walks up the forest, a few dozen workers among a thousand. component_of() does too,
// but stops at a worker whose component was already found since the last group. components() takes
// log(groups). Memory: 24 bytes per worker and 8 per group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

class SyncGraph {
 public:
  explicit SyncGraph(int workers);

  // Adds the next group. Each rank may occur at most once.
  void add(std::span<const Rank> group);

  std::int64_t groups() const { return groups_; }
  // How many of the last groups are needed to connect all workers; nullopt if all groups together
  // do not connect them.
  std::optional<std::int64_t> connected_within() const;
  // The number of components if only the last `window` groups count.
  int components(std::int64_t window) const;
  // The component of a worker, identified by one of its members; the second one for every worker.
  Rank component_of(Rank worker, std::int64_t window);
  std::vector<Rank> component_of_each(std::int64_t window);

  // The forest. Everything else follows from it.
  void state(Archive& archive);

 private:
  // A worker's join with its parent in the forest.
  struct Join {
    Rank parent;
    std::int64_t group;  // the group that joined them; kNever if the worker is a root
  };
  static constexpr std::int64_t kNever = -1;

  // The number of the first of the last `window` groups.
  std::int64_t first_of(std::int64_t window) const {
    return std::max<std::int64_t>(groups_ - window, 0);
  }
  Join& of(Rank worker) { return joins_[static_cast<std::size_t>(worker)]; }
  void join(Rank a, Rank b, std::int64_t group);
  void make_root(Rank worker);
  void begin_group();
  void count_again();
  // Adds `change` to the number of joins of a group.
  void count(std::int64_t group, int change);
  // The number of joins of all groups before this one.
  std::int64_t joins_before(std::int64_t group) const;

  std::vector<Join> joins_;  // by worker
  std::int64_t groups_ = 0;

  // A cache of component_of() for one window; valid until the next group is added.
  struct Found {
    Rank component = 0;
    std::int64_t question = 0;  // the value of question_ then; outdated if question_ has changed
  };
  std::vector<Found> found_;   // by worker
  std::int64_t question_ = 1;  // changes with the window and with every group
  std::int64_t asked_window_ = 0;
  std::vector<Rank> way_;  // the path up the forest in component_of()

  std::int64_t count_ = 0;     // joins in the forest
  std::vector<int> joins_of_;  // joins in the forest, by group
  std::vector<int> sums_;      // prefix sums of joins_of_, as a binary indexed tree (Fenwick, 1994)
  std::int64_t oldest_group_ = 0;  // the oldest group with a join in the forest, or the next group
};

}  // namespace motley
