// Graph: which workers send their models to which, for methods without a common meeting point.
//
// Edges are directed; a worker's edge to itself is understood and not listed. The named graphs of
// Luo et al. (ASPLOS 2019) have every edge both ways:
//   ring         the neighbours left and right
//   ring_based   and the worker farthest away on the ring
//   double_ring  two ring_based halves, joined worker by worker
//   complete     everybody
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace motley {

struct Edge {
  Rank from = 0;
  Rank to = 0;

  friend auto operator<=>(const Edge&, const Edge&) = default;
};

class Graph {
 public:
  // Edges between any two of `workers`; given twice, they count once.
  Graph(int workers, std::span<const Edge> edges);
  // double_ring takes an even number of workers.
  static Graph named(std::string_view name, int workers);

  int size() const { return static_cast<int>(out_.size()); }
  // In the order of their ranks.
  const std::vector<Rank>& out_neighbours(Rank worker) const { return out_[at(worker)]; }
  const std::vector<Rank>& in_neighbours(Rank worker) const { return in_[at(worker)]; }
  int smallest_in_degree() const;

  // Edges on the shortest path to every worker; kNoPath where there is none.
  static constexpr int kNoPath = -1;
  std::vector<int> distances_from(Rank worker) const { return distances(worker, out_); }
  // Two workers without a path from the first to the second; nullopt: the graph is strongly
  // connected.
  std::optional<Edge> first_without_path() const;
  // The longest of all shortest paths. The graph is strongly connected.
  int diameter() const;

  // How fast averaging over in-neighbours makes all models alike: 1 - |second eigenvalue| of the
  // matrix that gives a worker and each of its in-neighbours the same weight. 1: in one step.
  double spectral_gap() const;

 private:
  using Neighbours = std::vector<std::vector<Rank>>;  // by worker
  static std::size_t at(Rank worker) { return static_cast<std::size_t>(worker); }
  static std::vector<int> distances(Rank worker, const Neighbours& next);
  // Every worker's value becomes the mean of its own and its in-neighbours'.
  void average(std::vector<double>& values) const;

  Neighbours out_;
  Neighbours in_;
};

}  // namespace motley
