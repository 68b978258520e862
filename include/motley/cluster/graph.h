// Graph: which workers send their models to which, for methods without a central exchange.
//
// Edges are directed. Every worker also has an edge to itself, which is not listed. The named
// graphs of Luo et al. (ASPLOS 2019) have every edge in both directions:
//   ring         the left and the right neighbour
//   ring_based   these and the worker on the opposite side of the ring
//   double_ring  two ring_based halves, each worker joined to its counterpart
//   complete     all other workers
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

// The named graphs, and kEdges for a list of edges.
enum class GraphKind { kRing, kRingBased, kDoubleRing, kComplete, kEdges };

class Graph {
 public:
  // Edges between any two of `workers`. Duplicates are ignored.
  Graph(int workers, std::span<const Edge> edges);
  // A named graph; `kind` must not be kEdges. kDoubleRing needs an even number of workers. Cheap:
  // neighbours are computed when asked for.
  static Graph of(GraphKind kind, int workers);

  int size() const { return size_; }
  // In the order of ranks.
  std::vector<Rank> out_neighbours(Rank worker) const;
  std::vector<Rank> in_neighbours(Rank worker) const;
  int smallest_in_degree() const;

  // The symmetry of the graph: it consists of this many lanes of equal length, each a consecutive
  // range of ranks, and rotating all lanes by the same number of places does not change the graph.
  // So a result for one worker of a lane holds for the whole lane. Rings are one lane, double_ring
  // is two; in a list of edges every worker is its own lane.
  int lanes() const { return lanes_; }

  // Number of edges on the shortest path to every worker; kNoPath if there is none.
  static constexpr int kNoPath = -1;
  std::vector<int> distances_from(Rank worker) const;
  // The longest of the shortest paths to its in-neighbours. The search stops there.
  int longest_way_to_in_neighbour(Rank worker) const;
  // Two workers with no path from the first to the second; nullopt if the graph is strongly
  // connected.
  std::optional<Edge> first_without_path() const;
  // The longest of all shortest paths. Requires a strongly connected graph.
  int diameter() const;

  // How fast averaging over in-neighbours makes all models equal: 1 - |second eigenvalue| of the
  // matrix that gives a worker and each of its in-neighbours the same weight. 1 means in one step.
  // nullopt if the power iteration converges too slowly to be worth waiting for, as on a ring of a
  // thousand.
  std::optional<double> spectral_gap() const;

 private:
  using Neighbours = std::vector<std::vector<Rank>>;              // by worker
  using Named = std::vector<Rank> (*)(Rank worker, int workers);  // same result for in and out

  Graph(int workers, int lanes, Named neighbours)
      : size_(workers), lanes_(lanes), named_(neighbours) {}
  Neighbours all_in() const;

  int size_;
  int lanes_;
  Named named_ = nullptr;  // if the graph was made by name
  Neighbours out_;         // if the graph was made from a list of edges
  Neighbours in_;
};

}  // namespace motley
