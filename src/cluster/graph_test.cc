#include "motley/cluster/graph.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/random.h"

namespace motley {
namespace {

Graph directed_ring(int workers) {
  std::vector<Edge> edges;
  for (Rank rank = 0; rank < workers; ++rank) {
    edges.push_back({rank, (rank + 1) % workers});
  }
  return {workers, edges};
}

// Degrees and diameters of the paper's graphs with 16 workers.
TEST(Graph, NamedOnesHaveTheDegreesAndDiametersOfThePaper) {
  struct Expected {
    GraphKind name;
    int degree;
    int diameter;
  };
  for (const auto& [name, degree, diameter] : {Expected{GraphKind::kRing, 2, 8},
                                               {GraphKind::kRingBased, 3, 4},
                                               {GraphKind::kDoubleRing, 4, 3},
                                               {GraphKind::kComplete, 15, 1}}) {
    const Graph graph = Graph::of(name, 16);
    EXPECT_EQ(graph.smallest_in_degree(), degree) << static_cast<int>(name);
    EXPECT_EQ(graph.diameter(), diameter) << static_cast<int>(name);
    for (Rank rank = 0; rank < 16; ++rank) {
      EXPECT_EQ(graph.in_neighbours(rank), graph.out_neighbours(rank)) << static_cast<int>(name);
    }
  }
  EXPECT_EQ(Graph::of(GraphKind::kRingBased, 16).out_neighbours(3), (std::vector<Rank>{2, 4, 11}));
  EXPECT_EQ(Graph::of(GraphKind::kDoubleRing, 16).out_neighbours(3),
            (std::vector<Rank>{2, 4, 7, 11}));
}

TEST(Graph, NamedOnesOfFewWorkersAreStillConnected) {
  for (const GraphKind name :
       {GraphKind::kRing, GraphKind::kRingBased, GraphKind::kDoubleRing, GraphKind::kComplete}) {
    for (const int workers : {1, 2, 3, 4, 5, 6, 7}) {
      if (workers % 2 == 0 || name != GraphKind::kDoubleRing) {
        EXPECT_EQ(Graph::of(name, workers).first_without_path(), std::nullopt);
      }
    }
  }
}

TEST(Graph, PathsFollowTheDirectionOfEdges) {
  const Graph graph = directed_ring(5);
  EXPECT_EQ(graph.distances_from(1), (std::vector<int>{4, 0, 1, 2, 3}));
  EXPECT_EQ(graph.diameter(), 4);
  const Graph path(3, std::array{Edge{0, 1}, Edge{1, 2}});
  EXPECT_EQ(path.first_without_path(), (Edge{1, 0}));
  EXPECT_EQ(Graph(3, std::array{Edge{0, 1}, Edge{1, 0}}).first_without_path(), (Edge{0, 2}));
}

// Compared with Floyd-Warshall.
RC_GTEST_PROP(Graph, DistancesAreShortestPaths, ()) {
  const int workers = *rc::gen::inRange(1, 12);
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  std::vector<Edge> edges;
  const auto n = static_cast<std::size_t>(workers);
  constexpr int kFar = 1'000;
  std::vector<std::vector<int>> length(n, std::vector<int>(n, kFar));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      length[i][j] = i == j ? 0 : random.below(4) == 0 ? 1 : kFar;
      if (length[i][j] == 1) {
        edges.push_back({static_cast<Rank>(i), static_cast<Rank>(j)});
      }
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        length[i][j] = std::min(length[i][j], length[i][k] + length[k][j]);
      }
    }
  }
  const Graph graph(workers, edges);
  bool connected = true;
  for (std::size_t i = 0; i < n; ++i) {
    const auto distances = graph.distances_from(static_cast<Rank>(i));
    for (std::size_t j = 0; j < n; ++j) {
      const bool has_path = length[i][j] < kFar;
      connected = connected && has_path;
      RC_ASSERT(distances[j] == (has_path ? length[i][j] : Graph::kNoPath));
    }
  }
  RC_ASSERT(graph.first_without_path().has_value() == !connected);
}

// The eigenvalues of rings have a closed form; those of a directed ring are complex.
TEST(Graph, SpectralGapIsOneMinusTheSecondEigenvalue) {
  for (const int workers : {3, 4, 8, 16, 50, 300}) {
    const double angle = 2 * std::numbers::pi / workers;
    const double ring = 1 - std::abs(1 + 2 * std::cos(angle)) / 3;
    const double one_way = 1 - std::cos(angle / 2);
    EXPECT_NEAR(Graph::of(GraphKind::kRing, workers).spectral_gap().value() / ring, 1, 1e-3);
    EXPECT_NEAR(directed_ring(workers).spectral_gap().value() / one_way, 1, 1e-3);
  }
  EXPECT_EQ(Graph::of(GraphKind::kRing, 4000).spectral_gap(), std::nullopt);
  EXPECT_EQ(Graph::of(GraphKind::kComplete, 7).spectral_gap(), 1);
  EXPECT_EQ(Graph::of(GraphKind::kRing, 1).spectral_gap(), 1);
  const auto ring_based = Graph::of(GraphKind::kRingBased, 16).spectral_gap();
  EXPECT_GT(ring_based, Graph::of(GraphKind::kRing, 16).spectral_gap());
  EXPECT_GT(Graph::of(GraphKind::kDoubleRing, 16).spectral_gap(), ring_based);
}

// With a gap of g, differences shrink by 1 - g per step, also if rows and columns differ.
TEST(Graph, SpectralGapIsTheRateAtWhichModelsConverge) {
  const Graph graph(4, std::array{Edge{0, 1}, Edge{1, 2}, Edge{2, 0}, Edge{2, 3}, Edge{3, 0}});
  std::vector<double> models{1, -2, 4, 0.5};
  const auto spread = [&] {
    const auto [least, most] = std::ranges::minmax(models);
    return most - least;
  };
  const auto average = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      const auto old = models;
      for (Rank rank = 0; rank < 4; ++rank) {
        auto& model = models[static_cast<std::size_t>(rank)];
        for (const Rank neighbour : graph.in_neighbours(rank)) {
          model += old[static_cast<std::size_t>(neighbour)];
        }
        model /= static_cast<double>(graph.in_neighbours(rank).size() + 1);
      }
    }
  };
  average(10);
  const double before = spread();
  average(20);
  const double rate = std::pow(spread() / before, 1.0 / 20);
  EXPECT_NEAR(1 - graph.spectral_gap().value(), rate, 0.03);
}

// Rotating all lanes does not change the graph.
TEST(Graph, LooksTheSameFromEveryPlaceOfALane) {
  for (const GraphKind name :
       {GraphKind::kRing, GraphKind::kRingBased, GraphKind::kDoubleRing, GraphKind::kComplete}) {
    for (const int workers : {2, 6, 10, 16}) {
      const Graph graph = Graph::of(name, workers);
      const int places = workers / graph.lanes();
      const auto shifted = [&](Rank rank) {
        return rank / places * places + (rank % places + 1) % places;
      };
      for (Rank rank = 0; rank < workers; ++rank) {
        std::vector<Rank> expected = graph.out_neighbours(rank);
        std::ranges::transform(expected, expected.begin(), shifted);
        std::ranges::sort(expected);
        EXPECT_EQ(graph.out_neighbours(shifted(rank)), expected)
            << static_cast<int>(name) << " of " << workers;
      }
    }
  }
}

TEST(Graph, KnowsTheLongestWayToAnInNeighbour) {
  const std::vector<Edge> edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}, {1, 0}, {3, 0}};
  const Graph graph(5, edges);
  EXPECT_EQ(graph.longest_way_to_in_neighbour(0), 4);  // to 4
  EXPECT_EQ(graph.longest_way_to_in_neighbour(1), 1);  // to 0
  EXPECT_EQ(graph.longest_way_to_in_neighbour(3), 3);  // to 2, by way of 0 and 1
  EXPECT_EQ(Graph::of(GraphKind::kRing, 9).longest_way_to_in_neighbour(4), 1);
}

}  // namespace
}  // namespace motley
