#include "runtime/run/membership.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Ranks = std::vector<std::optional<Rank>>;
using Ids = std::vector<int>;

TEST(Membership, KeepsIdsWhileRanksAreDense) {
  Membership members(4);
  members.leave(1, 2.5, "was lost");
  EXPECT_EQ(members.ids(), (Ids{0, 2, 3}));
  EXPECT_EQ(members.lowest_free(), 1);
  EXPECT_EQ(change_of({0, 1, 2, 3}, members.ids(), {1}).previous, (Ranks{0, 2, 3}));
  members.join(1, 4, "joined");
  members.join(4, 5, "joined");
  EXPECT_EQ(members.lowest_free(), 5);
  EXPECT_EQ(change_of({0, 2, 3}, members.ids(), {}).previous,
            (Ranks{0, std::nullopt, 1, 2, std::nullopt}));
}

TEST(Membership, WhoComesBackUnderTheSameIdIsANewcomer) {
  Membership members(2);
  members.leave(1, 1, "was lost");
  members.join(1, 1, "joined");
  EXPECT_EQ(change_of({0, 1}, members.ids(), {1}).previous, (Ranks{0, std::nullopt}));
  EXPECT_EQ(change_of({0, 1}, members.ids(), {}).previous, (Ranks{0, 1}));
}

TEST(Membership, RemembersEverybody) {
  Membership members(2);
  members.leave(0, 1.5, "left");
  members.join(0, 2, "joined");
  const auto& history = members.history();
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0].left, 1.5);
  EXPECT_EQ(history[0].why, "left");
  EXPECT_EQ(history[1].left, std::nullopt);
  EXPECT_EQ(history[2].process.id, 0);
  EXPECT_EQ(history[2].joined, 2);
}

TEST(Membership, GoesOnFromACheckpointWithOthers) {
  Membership before(3);
  before.leave(2, 1, "was lost");
  Membership members(1);
  members.go_on({0, 3}, before.history(), 7);
  EXPECT_EQ(members.ids(), (Ids{0, 3}));
  EXPECT_EQ(members.history()[1].left, 7);
  EXPECT_EQ(members.history()[2].why, "was lost");
  EXPECT_EQ(members.history().back().process.id, 3);
}

TEST(Membership, GoesOnWithThoseItHas) {
  Membership before(3);
  before.leave(1, 1, "was lost");
  before.join(7, 2, "joined");
  Membership members(3);
  members.go_on(members.ids(), before.history(), 7);
  EXPECT_EQ(members.ids(), (Ids{0, 1, 2}));
  EXPECT_EQ(members.history().back().process.id, 1);
}

TEST(Membership, TheIdealRateIsOfThoseWhoWereThere) {
  ClusterSpec cluster;
  cluster.speeds = {1, 0.5};
  cluster.unit = 0.1;
  Membership members(2);
  EXPECT_FALSE(ideal_rate(members.history(), cluster, 10));
  members.leave(1, 4, "was lost");
  EXPECT_DOUBLE_EQ(*ideal_rate(members.history(), cluster, 10), 10 + 0.4 * 5);
  members.join(2, 5, "joined");  // beyond the list its speed is 1
  EXPECT_DOUBLE_EQ(*ideal_rate(members.history(), cluster, 10), 10 + 0.4 * 5 + 0.5 * 10);
  members.join(3, 11, "joined");  // after the last step
  EXPECT_DOUBLE_EQ(*ideal_rate(members.history(), cluster, 10), 10 + 0.4 * 5 + 0.5 * 10);
  cluster.unit = 0;
  EXPECT_FALSE(ideal_rate(members.history(), cluster, 10));
}

}  // namespace
}  // namespace motley
