#include "sync/partial_reduce/sync_graph.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "base/random.h"

namespace motley {
namespace {

using Groups = std::vector<std::vector<Rank>>;

// The same answers, computed from all groups each time.
std::vector<Rank> component_of_each(int workers, const Groups& groups, std::size_t window) {
  std::vector<Rank> component(static_cast<std::size_t>(workers));
  for (Rank rank = 0; rank < workers; ++rank) {
    component[static_cast<std::size_t>(rank)] = rank;
  }
  const std::size_t first = groups.size() > window ? groups.size() - window : 0;
  for (std::size_t g = first; g < groups.size(); ++g) {
    for (const Rank member : groups[g]) {
      const Rank joined = component[static_cast<std::size_t>(member)];
      const Rank other = component[static_cast<std::size_t>(groups[g].front())];
      std::ranges::replace(component, joined, other);
    }
  }
  return component;
}

std::size_t components(const std::vector<Rank>& component) {
  return std::set(component.begin(), component.end()).size();
}

RC_GTEST_PROP(SyncGraph, KnowsTheComponentsOfEveryWindow, ()) {
  const int workers = *rc::gen::inRange(2, 12);
  SyncGraph graph(workers);
  Groups groups;
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  for (int count = *rc::gen::inRange(0, 60); count > 0; --count) {
    std::vector<Rank> members(static_cast<std::size_t>(workers));
    std::iota(members.begin(), members.end(), 0);
    random.shuffle(std::span(members));
    members.resize(1 + static_cast<std::size_t>(random.below(members.size())));
    groups.push_back(members);
    graph.add(members);
    RC_ASSERT(graph.groups() == static_cast<std::int64_t>(groups.size()));
    std::optional<std::int64_t> connected;
    for (std::size_t window = groups.size(); window > 0; --window) {
      const auto expected = component_of_each(workers, groups, window);
      const auto parts = components(expected);
      RC_ASSERT(static_cast<std::size_t>(graph.components(static_cast<std::int64_t>(window))) ==
                parts);
      connected = parts == 1 ? std::optional(static_cast<std::int64_t>(window)) : connected;
      const auto found = graph.component_of_each(static_cast<std::int64_t>(window));
      for (std::size_t a = 0; a < found.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          RC_ASSERT((found[a] == found[b]) == (expected[a] == expected[b]));
        }
      }
    }
    RC_ASSERT(graph.connected_within() == connected);
  }
}

TEST(SyncGraph, BeginsUnconnected) {
  const SyncGraph graph(3);
  EXPECT_EQ(graph.components(10), 3);
  EXPECT_EQ(graph.connected_within(), std::nullopt);
}

TEST(SyncGraph, WithoutAWindowNobodyIsConnected) {
  SyncGraph graph(3);
  graph.add(std::vector<Rank>{0, 1, 2});
  EXPECT_EQ(graph.components(0), 3);
  EXPECT_EQ(graph.components(1), 1);
  EXPECT_EQ(graph.connected_within(), 1);
}

}  // namespace
}  // namespace motley
