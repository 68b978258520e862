// SyncGraph: which workers averaged with each other lately, directly or through others.
//
// Its vertices are the workers; every group joins its members (Miao et al., SIGMOD 2021: the
// sync-graph). What matters is how old the joins are, so the graph keeps a spanning forest of the
// most recent ones and no other: a join that closes a circle replaces the oldest one of it. From
// that forest the components of the last so many groups can be read off for any number of groups.
//
// Cost: a join walks up the forest, some dozens of workers among a thousand; so does the question
// for a worker's component, past workers that were not on such a way since the last group. How many
// components there are takes log(groups). Memory: 24 bytes a worker and 8 a group.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

class SyncGraph {
 public:
  explicit SyncGraph(int workers);

  // The next group: each rank at most once.
  void add(std::span<const Rank> group);

  std::int64_t groups() const { return groups_; }
  // How many of the last groups it takes to connect all workers; nullopt: all groups together do
  // not.
  std::optional<std::int64_t> connected_within() const;
  // How many components there are when only the last `window` groups count.
  int components(std::int64_t window) const;
  // The component of a worker, named by one of its members; and the same of every worker.
  Rank component_of(Rank worker, std::int64_t window);
  std::vector<Rank> component_of_each(std::int64_t window);

 private:
  // A worker's join with its parent in the forest.
  struct Join {
    Rank parent;
    std::int64_t group;  // the number of the group that joined them; kNever: it is a root
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
  // One join more of a group, or one less.
  void count(std::int64_t group, int change);
  // Of groups before this one.
  std::int64_t joins_before(std::int64_t group) const;

  std::vector<Join> joins_;  // by worker
  std::int64_t groups_ = 0;

  // What was found out about components since the last group was added, for one window.
  struct Found {
    Rank component = 0;
    std::int64_t question = 0;  // it is the answer to; an earlier one is out of date
  };
  std::vector<Found> found_;   // by worker
  std::int64_t question_ = 1;  // a number for the window and the groups that it is of
  std::int64_t asked_window_ = 0;
  std::vector<Rank> way_;  // up the forest, from who was asked about

  std::int64_t count_ = 0;         // of joins in the forest
  std::vector<int> joins_of_;      // in the forest, by group
  std::vector<int> sums_;          // of that row, as a binary indexed tree (Fenwick, 1994)
  std::int64_t oldest_group_ = 0;  // that has a join in the forest, or the next one
};

}  // namespace motley
