#include "sync/partial_reduce/sync_graph.h"

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

// Sets of workers that grow together.
class UnionFind {
 public:
  explicit UnionFind(std::size_t size) : leader_(size) {
    std::iota(leader_.begin(), leader_.end(), 0);
  }
  Rank find(Rank worker) {
    while (leader(worker) != worker) {
      leader(worker) = leader(leader(worker));  // halves the way for the next one
      worker = leader(worker);
    }
    return worker;
  }
  void unite(Rank a, Rank b) { leader(find(a)) = find(b); }

 private:
  Rank& leader(Rank worker) { return leader_[static_cast<std::size_t>(worker)]; }

  std::vector<Rank> leader_;
};

}  // namespace

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
  const std::int64_t since = std::max<std::int64_t>(groups_ - window, 0);
  const auto joined =
      std::ranges::count_if(joins_, [&](const Join& j) { return j.group >= since; });
  return static_cast<int>(joins_.size()) - static_cast<int>(joined);
}

std::vector<Rank> SyncGraph::component_of_each(std::int64_t window) const {
  const std::int64_t since = std::max<std::int64_t>(groups_ - window, 0);
  UnionFind sets(joins_.size());
  for (std::size_t worker = 0; worker < joins_.size(); ++worker) {
    if (joins_[worker].group >= since) {
      sets.unite(static_cast<Rank>(worker), joins_[worker].parent);
    }
  }
  std::vector<Rank> component(joins_.size());
  for (std::size_t worker = 0; worker < joins_.size(); ++worker) {
    component[worker] = sets.find(static_cast<Rank>(worker));
  }
  return component;
}

}  // namespace motley
