#include "sync/partial_reduce/sync_graph.h"

#include <algorithm>
#include <utility>

namespace motley {

SyncGraph::SyncGraph(int workers) : joins_(static_cast<std::size_t>(workers), {0, kNever}) {}

void SyncGraph::add(std::span<const Rank> group) {
  for (std::size_t i = 1; i < group.size(); ++i) {
    join(group[i - 1], group[i], groups_);
  }
  ++groups_;
}

// No join is more recent than this one, so of a circle another one goes: the oldest.
void SyncGraph::join(Rank a, Rank b, std::int64_t group) {
  make_root(a);
  Rank oldest = b;
  Rank top = b;
  for (; of(top).group != kNever; top = of(top).parent) {
    oldest = of(top).group < of(oldest).group ? top : oldest;
  }
  if (top == a) {
    of(oldest).group = kNever;
  }
  of(a) = {b, group};
}

// Turns round every join on the way up.
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

std::optional<std::int64_t> SyncGraph::connected_within() const {
  // One root: all others hang on it.
  std::int64_t roots = 0;
  std::int64_t oldest = groups_;
  for (const Join& join : joins_) {
    roots += join.group == kNever ? 1 : 0;
    oldest = join.group != kNever ? std::min(oldest, join.group) : oldest;
  }
  return roots == 1 ? std::optional(groups_ - oldest) : std::nullopt;
}

int SyncGraph::components(std::int64_t window) const {
  const std::int64_t since = first_of(window);
  const auto joined =
      std::ranges::count_if(joins_, [&](const Join& join) { return join.group >= since; });
  return static_cast<int>(joins_.size()) - static_cast<int>(joined);
}

std::vector<Rank> SyncGraph::component_of_each(std::int64_t window) const {
  constexpr Rank kUnknown = -1;
  const std::int64_t since = first_of(window);
  std::vector<Rank> component(joins_.size(), kUnknown);
  std::vector<std::size_t> way;  // up to a worker whose component is known, or to the top of one
  for (std::size_t worker = 0; worker < joins_.size(); ++worker) {
    std::size_t top = worker;
    for (; component[top] == kUnknown && joins_[top].group >= since;
         top = static_cast<std::size_t>(joins_[top].parent)) {
      way.push_back(top);
    }
    const Rank name = component[top] == kUnknown ? static_cast<Rank>(top) : component[top];
    component[top] = name;
    for (; !way.empty(); way.pop_back()) {
      component[way.back()] = name;
    }
  }
  return component;
}

}  // namespace motley
