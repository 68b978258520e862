#include "sync/hop/member_edges.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace motley {
namespace {

// A graph that workers can leave.
class Links {
 public:
  explicit Links(std::span<const Edge> edges) {
    for (const auto& [from, to] : edges) {
      add(from, to);
    }
  }

  void add(int from, int to) {
    if (from != to) {
      out_[from].insert(to);
      in_[to].insert(from);
    }
  }
  // A new worker has the neighbours of another one, and is its neighbour.
  void add_beside(int worker, std::set<int> from, std::set<int> to, int other) {
    from.insert(other);
    to.insert(other);
    for (const int neighbour : from) {
      add(neighbour, worker);
    }
    for (const int neighbour : to) {
      add(worker, neighbour);
    }
  }

  void lose(int worker, EdgeRepair repair) {
    const std::set<int> before = remove(worker, in_, out_);
    const std::set<int> after = remove(worker, out_, in_);
    for (const int from : before) {
      std::set<int> reached;
      if (repair == EdgeRepair::kFew) {
        reach(from, reached);
      }
      for (const int to : after) {
        if (!reached.contains(to)) {
          add(from, to);
          repair == EdgeRepair::kFew ? reach(to, reached) : void();
        }
      }
    }
  }

  std::set<int> in_neighbours(int worker) const { return of(in_, worker); }
  std::set<int> out_neighbours(int worker) const { return of(out_, worker); }

 private:
  using Neighbours = std::map<int, std::set<int>>;

  static std::set<int> of(const Neighbours& neighbours, int worker) {
    const auto found = neighbours.find(worker);
    return found == neighbours.end() ? std::set<int>{} : found->second;
  }
  // Returns the worker's neighbours in this direction.
  static std::set<int> remove(int worker, Neighbours& these, Neighbours& others) {
    std::set<int> removed = of(these, worker);
    these.erase(worker);
    for (const int neighbour : removed) {
      others[neighbour].erase(worker);
    }
    return removed;
  }
  // Adds the workers that can be reached.
  void reach(int from, std::set<int>& reached) const {
    std::vector<int> next{from};
    reached.insert(from);
    while (!next.empty()) {
      const int worker = next.back();
      next.pop_back();
      const auto neighbours = out_.find(worker);
      if (neighbours == out_.end()) {
        continue;
      }
      for (const int to : neighbours->second) {
        if (reached.insert(to).second) {
          next.push_back(to);
        }
      }
    }
  }

  Neighbours out_;
  Neighbours in_;
};

}  // namespace

std::vector<Edge> member_edges(std::span<const Edge> edges, const std::vector<int>& ids,
                               EdgeRepair repair) {
  int workers = 1;  // of the run: each has an edge, unless there is only one
  for (const auto& [from, to] : edges) {
    workers = std::max({workers, from + 1, to + 1});
  }
  if (std::ssize(ids) == workers && ids.back() == workers - 1) {
    return {edges.begin(), edges.end()};
  }
  const Links run(edges);
  Links links = run;
  for (const int id : ids) {
    if (id >= workers) {
      const int other = id % workers;
      links.add_beside(id, run.in_neighbours(other), run.out_neighbours(other), other);
    }
  }
  for (int id = 0; id < workers; ++id) {
    if (!std::ranges::binary_search(ids, id)) {
      links.lose(id, repair);
    }
  }
  std::map<int, Rank> rank_of;
  for (std::size_t rank = 0; rank < ids.size(); ++rank) {
    rank_of[ids[rank]] = static_cast<Rank>(rank);
  }
  std::vector<Edge> kept;
  for (const int from : ids) {
    for (const int to : links.out_neighbours(from)) {
      kept.push_back({rank_of.at(from), rank_of.at(to)});
    }
  }
  return kept;
}

}  // namespace motley
