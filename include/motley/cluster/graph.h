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
#include <vector>

#include "motley/base/ids.h"

namespace motley {

struct Edge {
  Rank from = 0;
  Rank to = 0;

  friend auto operator<=>(const Edge&, const Edge&) = default;
};

// The graphs that have a name, and one that is given by its edges.
enum class GraphKind { kRing, kRingBased, kDoubleRing, kComplete, kEdges };

class Graph {
 public:
  // Edges between any two of `workers`; given twice, they count once.
  Graph(int workers, std::span<const Edge> edges);
  // One with a name, which kEdges has not. double_ring takes an even number of workers. Costs
  // nothing: neighbours are worked out when they are asked for.
  static Graph of(GraphKind kind, int workers);

  int size() const { return size_; }
  // In the order of their ranks.
  std::vector<Rank> out_neighbours(Rank worker) const;
  std::vector<Rank> in_neighbours(Rank worker) const;
  int smallest_in_degree() const;

  // Workers lie in so many lanes, each as long, one behind the other in the order of their ranks;
  // shifting all workers round their lanes by the same number of places leaves the graph as it is.
  // So what holds for one worker of a lane holds for all. Rings are one lane, double_ring is two;
  // of a list of edges nothing is known: every worker is a lane.
  int lanes() const { return lanes_; }

  // Edges on the shortest path to every worker; kNoPath where there is none.
  static constexpr int kNoPath = -1;
  std::vector<int> distances_from(Rank worker) const;
  // The longest of the shortest paths to its in-neighbours; looks no farther than that.
  int longest_way_to_in_neighbour(Rank worker) const;
  // Two workers without a path from the first to the second; nullopt: the graph is strongly
  // connected.
  std::optional<Edge> first_without_path() const;
  // The longest of all shortest paths. The graph is strongly connected.
  int diameter() const;

  // How fast averaging over in-neighbours makes all models alike: 1 - |second eigenvalue| of the
  // matrix that gives a worker and each of its in-neighbours the same weight. 1: in one step.
  // Differences that take very long to shrink are not waited for: nullopt, as on rings of a
  // thousand.
  std::optional<double> spectral_gap() const;

 private:
  using Neighbours = std::vector<std::vector<Rank>>;              // by worker
  using Named = std::vector<Rank> (*)(Rank worker, int workers);  // the same both ways

  Graph(int workers, int lanes, Named neighbours)
      : size_(workers), lanes_(lanes), named_(neighbours) {}
  Neighbours all_in() const;

  int size_;
  int lanes_;
  Named named_ = nullptr;  // of a named graph
  Neighbours out_;         // of a list of edges
  Neighbours in_;
};

}  // namespace motley
