#include "sync/hop/member_edges.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

namespace motley {
namespace {

using Edges = std::vector<Edge>;

// 0 -> 1 -> 2 -> 3 -> 0
const Edges kCycle = {{0, 1}, {1, 2}, {2, 3}, {3, 0}};

TEST(MemberEdges, StayAsTheyAreWithAllWorkers) {
  EXPECT_EQ(member_edges(kCycle, {0, 1, 2, 3}, EdgeRepair::kFew), kCycle);
}

TEST(MemberEdges, ALostWorkerIsBridged) {
  EXPECT_EQ(member_edges(kCycle, {0, 1, 3}, EdgeRepair::kFew), (Edges{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_EQ(member_edges(kCycle, {1, 3}, EdgeRepair::kFew), (Edges{{0, 1}, {1, 0}}));
  EXPECT_EQ(member_edges(kCycle, {2}, EdgeRepair::kFew), Edges{});
}

TEST(MemberEdges, NoneIsAddedWhereAPathIsLeft) {
  const Edges both = {{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 0}, {0, 2}};
  EXPECT_EQ(member_edges(both, {0, 2}, EdgeRepair::kFew), (Edges{{0, 1}, {1, 0}}));
}

TEST(MemberEdges, ANewcomerHasTheNeighboursOfAnother) {
  EXPECT_EQ(member_edges({{{0, 1}, {1, 0}}}, {0, 1, 2}, EdgeRepair::kFew),
            (Edges{{0, 1}, {0, 2}, {1, 0}, {1, 2}, {2, 0}, {2, 1}}));
  EXPECT_EQ(member_edges({}, {0, 1}, EdgeRepair::kFew), (Edges{{0, 1}, {1, 0}}));
}

RC_GTEST_PROP(MemberEdges, AreAlwaysConnectedAndPathsNeverLonger, ()) {
  const int workers = *rc::gen::inRange(2, 14);
  Edges edges;
  for (Rank rank = 0; rank < workers; ++rank) {
    edges.push_back({rank, (rank + 1) % workers});
    const Rank to = *rc::gen::inRange(0, workers);
    if (to != rank) {
      edges.push_back({rank, to});
    }
  }
  std::vector<int> ids;
  for (int id = 0; id < workers + 5; ++id) {
    if (*rc::gen::arbitrary<bool>()) {
      ids.push_back(id);
    }
  }
  RC_PRE(!ids.empty());
  const auto members = static_cast<int>(ids.size());
  const Graph few(members, member_edges(edges, ids, EdgeRepair::kFew));
  RC_ASSERT(!few.first_without_path());
  const Graph all(members, member_edges(edges, ids, EdgeRepair::kAll));
  RC_ASSERT(!all.first_without_path());
  RC_ASSERT(all.diameter() <= std::max(Graph(workers, edges).diameter(), 2));
}

}  // namespace
}  // namespace motley
