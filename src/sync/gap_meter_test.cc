#include "motley/sync/gap_meter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>

#include "base/random.h"

namespace motley {
namespace {

TEST(GapMeter, SortsGapsByTheLengthOfPaths) {
  GapMeter meter(Graph::of(GraphKind::kRing, 4));
  for (Rank rank = 0; rank < 4; ++rank) {
    meter.begins(rank, 0, 0);
  }
  meter.begins(1, 1, 1);
  meter.begins(2, 1, 1);
  meter.begins(2, 2, 2);
  for (Rank rank = 0; rank < 4; ++rank) {
    meter.leaves(rank, 3);
  }
  EXPECT_EQ(meter.by_distance(), (std::vector<std::int64_t>{2, 2}));  // 2 over 3, 2 over 0
  EXPECT_EQ(meter.largest(), 2);
}

TEST(GapMeter, WhatHappensAtOnceIsNoGap) {
  GapMeter meter(Graph::of(GraphKind::kRing, 2));
  for (std::int64_t k = 0; k < 5; ++k) {
    meter.begins(0, k, static_cast<double>(k));
    meter.begins(1, k, static_cast<double>(k));
  }
  meter.leaves(0, 5);
  meter.leaves(1, 9);
  EXPECT_EQ(meter.largest(), 0);
}

TEST(GapMeter, NothingCountsOnceSomebodyHasLeft) {
  GapMeter meter(Graph::of(GraphKind::kRing, 2));
  meter.begins(0, 0, 0);
  meter.begins(1, 0, 0);
  meter.leaves(1, 1);
  meter.begins(0, 7, 2);
  meter.leaves(0, 3);
  EXPECT_EQ(meter.largest(), 0);
  EXPECT_EQ(GapMeter(Graph::of(GraphKind::kRing, 1)).largest(), 0);
}

// However late the news of each worker come.
RC_GTEST_PROP(GapMeter, DoesNotDependOnTheOrderOfNews, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const int workers = 2 + static_cast<int>(random.below(5));
  const Graph graph = Graph::of(GraphKind::kRing, workers);
  struct News {
    Seconds at;
    Rank worker;
    std::int64_t iteration;
  };
  std::vector<std::deque<News>> news(static_cast<std::size_t>(workers));
  std::vector<News> in_order;
  for (Rank worker = 0; worker < workers; ++worker) {
    Seconds at = 0;
    std::int64_t iteration = 0;
    for (std::uint64_t left = 1 + random.below(20); left > 0; --left) {
      news[static_cast<std::size_t>(worker)].push_back({at, worker, iteration});
      in_order.push_back({at, worker, iteration});
      at += random.uniform();
      iteration += 1 + static_cast<std::int64_t>(random.below(3));
    }
  }
  std::ranges::stable_sort(in_order, {}, &News::at);
  GapMeter expected(graph);
  for (const auto& [at, worker, iteration] : in_order) {
    expected.begins(worker, iteration, at);
  }
  GapMeter meter(graph);
  for (std::size_t left = in_order.size(); left > 0;) {
    auto& own = news[random.below(news.size())];
    if (!own.empty()) {
      meter.begins(own.front().worker, own.front().iteration, own.front().at);
      own.pop_front();
      --left;
    }
  }
  for (Rank worker = 0; worker < workers; ++worker) {
    expected.leaves(worker, 100);
    meter.leaves(worker, 100);
  }
  RC_ASSERT(meter.by_distance() == expected.by_distance());
}

// The same, by a look at every pair after every moment.
std::vector<std::int64_t> by_looking(const Graph& graph, const std::vector<std::int64_t>& iteration,
                                     std::vector<std::int64_t> largest) {
  for (Rank j = 0; j < graph.size(); ++j) {
    const auto paths = graph.distances_from(j);
    for (std::size_t i = 0; i < iteration.size(); ++i) {
      if (paths[i] > 0) {
        auto& known = largest[static_cast<std::size_t>(paths[i] - 1)];
        known = std::max(known, iteration[i] - iteration[static_cast<std::size_t>(j)]);
      }
    }
  }
  return largest;
}

Graph any_graph(Random& random) {
  const int workers = 2 * (1 + static_cast<int>(random.below(9)));
  const GraphKind names[] = {GraphKind::kRing, GraphKind::kRingBased, GraphKind::kDoubleRing,
                             GraphKind::kComplete};
  if (const auto name = random.below(5); name < 4) {
    return Graph::of(names[name], workers);
  }
  std::vector<Edge> edges;
  for (Rank rank = 0; rank < workers; ++rank) {
    edges.push_back({rank, (rank + 1) % workers});
    const auto other = static_cast<Rank>(random.below(static_cast<std::uint64_t>(workers)));
    if (other != rank) {
      edges.push_back({rank, other});
    }
  }
  return {workers, edges};
}

// On every kind of graph, whoever is slow.
RC_GTEST_PROP(GapMeter, SeesEveryPair, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const Graph graph = any_graph(random);
  GapMeter meter(graph);
  std::vector<std::int64_t> iteration(static_cast<std::size_t>(graph.size()), 0);
  std::vector<std::int64_t> expected(meter.by_distance().size(), 0);
  Seconds now = 0;
  for (int moment = 1; moment < 60; ++moment, ++now) {
    const auto who = static_cast<std::size_t>(
        std::min(random.below(iteration.size()), random.below(iteration.size())));
    iteration[who] += 1 + static_cast<std::int64_t>(random.below(2));
    meter.begins(static_cast<Rank>(who), iteration[who], now);
    expected = by_looking(graph, iteration, std::move(expected));
  }
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    meter.leaves(rank, now);
  }
  RC_ASSERT(meter.by_distance() == expected);
}

}  // namespace
}  // namespace motley
