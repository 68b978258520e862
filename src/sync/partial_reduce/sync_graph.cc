#include "sync/partial_reduce/sync_graph.h"

#include <algorithm>
#include <utility>

namespace motley {

SyncGraph::SyncGraph(int workers)
    : joins_(static_cast<std::size_t>(workers), {0, kNever}), found_(joins_.size()) {}

void SyncGraph::add(std::span<const Rank> group) {
  begin_group();
  for (std::size_t i = 1; i < group.size(); ++i) {
    join(group[i], group[0], groups_);  // all to the first member, so that paths stay short
  }
  ++groups_;
  ++question_;
  while (oldest_group_ < groups_ && joins_of_[static_cast<std::size_t>(oldest_group_)] == 0) {
    ++oldest_group_;  // no join is ever made for an older group
  }
}

// This join is the most recent one. If it closes a cycle, the oldest join of the cycle is removed.
void SyncGraph::join(Rank a, Rank b, std::int64_t group) {
  make_root(a);
  Rank oldest = b;
  Rank top = b;
  for (; of(top).group != kNever; top = of(top).parent) {
    oldest = of(top).group < of(oldest).group ? top : oldest;
  }
  if (top == a) {
    count(std::exchange(of(oldest).group, kNever), -1);
  }
  of(a) = {b, group};
  count(group, 1);
}

// Reverses every join on the path to the root.
void SyncGraph::make_root(Rank worker) {
  Join above{worker, kNever};
  for (;;) {
    std::swap(of(worker), above);
    if (above.group == kNever) {
      return;
    }
    const Rank next = above.parent;
    above.parent = worker;
    worker = next;
  }
}

namespace {

// Places of a binary indexed tree count from 1. The sum at a place covers this many elements and
// ends with the place itself.
std::size_t span_of(std::size_t place) { return place & (~place + 1); }

}  // namespace

void SyncGraph::begin_group() {
  joins_of_.push_back(0);
  const std::size_t place = joins_of_.size();
  int sum = 0;
  for (std::size_t part = place - 1; part > place - span_of(place); part -= span_of(part)) {
    sum += sums_[part - 1];
  }
  sums_.push_back(sum);
}

void SyncGraph::count(std::int64_t group, int change) {
  count_ += change;
  joins_of_[static_cast<std::size_t>(group)] += change;
  for (auto place = static_cast<std::size_t>(group) + 1; place <= sums_.size();
       place += span_of(place)) {
    sums_[place - 1] += change;
  }
}

void SyncGraph::state(Archive& archive) {
  std::vector<Rank> parents;
  std::vector<std::int64_t> groups;
  for (const Join& join : joins_) {
    parents.push_back(join.parent);
    groups.push_back(join.group);
  }
  archive("groups", groups_);
  archive("parents", parents);
  archive("joined", groups);
  if (!archive.is_saving()) {
    for (std::size_t i = 0; i < joins_.size(); ++i) {
      joins_[i] = {parents.at(i), groups.at(i)};
    }
    count_again();
  }
}

void SyncGraph::count_again() {
  joins_of_.clear();
  sums_.clear();
  count_ = 0;
  oldest_group_ = groups_;
  for (std::int64_t group = 0; group < groups_; ++group) {
    begin_group();
  }
  for (const Join& join : joins_) {
    if (join.group != kNever) {
      count(join.group, 1);
      oldest_group_ = std::min(oldest_group_, join.group);
    }
  }
  ++question_;
}

std::int64_t SyncGraph::joins_before(std::int64_t group) const {
  std::int64_t sum = 0;
  for (auto place = static_cast<std::size_t>(group); place > 0; place -= span_of(place)) {
    sum += sums_[place - 1];
  }
  return sum;
}

std::optional<std::int64_t> SyncGraph::connected_within() const {
  // All workers are connected if and only if there is one root.
  const bool has_one_root = count_ + 1 == std::ssize(joins_);
  return has_one_root ? std::optional(groups_ - oldest_group_) : std::nullopt;
}

int SyncGraph::components(std::int64_t window) const {
  const std::int64_t joined = count_ - joins_before(first_of(window));
  return static_cast<int>(std::ssize(joins_) - joined);
}

Rank SyncGraph::component_of(Rank worker, std::int64_t window) {
  if (std::exchange(asked_window_, window) != window) {
    ++question_;
  }
  const auto found = [&](Rank rank) -> Found& { return found_[static_cast<std::size_t>(rank)]; };
  const std::int64_t since = first_of(window);
  Rank top = worker;
  way_.clear();
  for (; found(top).question != question_ && of(top).group >= since; top = of(top).parent) {
    way_.push_back(top);
  }
  const Rank name = found(top).question == question_ ? found(top).component : top;
  found(top) = {name, question_};
  for (const Rank rank : way_) {
    found(rank) = {name, question_};
  }
  return name;
}

std::vector<Rank> SyncGraph::component_of_each(std::int64_t window) {
  std::vector<Rank> component;
  for (Rank rank = 0; rank < std::ssize(joins_); ++rank) {
    component.push_back(component_of(rank, window));
  }
  return component;
}

}  // namespace motley
