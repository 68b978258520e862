#include "sync/gap_meter.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>

#include "base/random.h"

namespace motley {
namespace {

TEST(GapMeter, SortsGapsByTheLengthOfPaths) {
  GapMeter meter(Graph::named("ring", 4));
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
  GapMeter meter(Graph::named("ring", 2));
  for (std::int64_t k = 0; k < 5; ++k) {
    meter.begins(0, k, static_cast<double>(k));
    meter.begins(1, k, static_cast<double>(k));
  }
  meter.leaves(0, 5);
  meter.leaves(1, 9);
  EXPECT_EQ(meter.largest(), 0);
}

TEST(GapMeter, NothingCountsOnceSomebodyHasLeft) {
  GapMeter meter(Graph::named("ring", 2));
  meter.begins(0, 0, 0);
  meter.begins(1, 0, 0);
  meter.leaves(1, 1);
  meter.begins(0, 7, 2);
  meter.leaves(0, 3);
  EXPECT_EQ(meter.largest(), 0);
  EXPECT_EQ(GapMeter(Graph::named("ring", 1)).largest(), 0);
}

// However late the news of each worker come.
RC_GTEST_PROP(GapMeter, DoesNotDependOnTheOrderOfNews, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const int workers = 2 + static_cast<int>(random.below(5));
  const Graph graph = Graph::named("ring", workers);
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

}  // namespace
}  // namespace motley
