#include "runtime/simulate/member_events.h"

#include <gtest/gtest.h>

#include "state/state.h"

namespace motley {
namespace {

ClusterSpec cluster(std::vector<ClusterEvent> events) {
  ClusterSpec spec;
  spec.workers = 3;
  spec.heartbeat = 2;
  spec.respawn = 3;
  spec.events = std::move(events);
  return spec;
}

// Applies all events up to now, as a run does.
std::vector<ClusterEvent> take(MemberEvents& events, Seconds now, Membership& members) {
  std::vector<ClusterEvent> all;
  while (const auto event = events.next(now, members)) {
    all.push_back(*event);
    if (event->kind == EventKind::kJoins) {
      members.join(event->worker, now, "");
    } else {
      members.leave(event->worker, now, "");
    }
  }
  return all;
}

TEST(MemberEvents, TheFirstLossOfAMemberEndsTheTerm) {
  MemberEvents events(cluster({{.at = 1, .kind = EventKind::kSpeed, .worker = 0},
                               {.at = 2, .kind = EventKind::kDies, .worker = 1},
                               {.at = 3, .kind = EventKind::kDies, .worker = 2}}));
  Membership members(3);
  EXPECT_EQ(events.outlook(members).loss, 2);
  EXPECT_FALSE(events.outlook(members).change);
  ASSERT_EQ(take(events, 2, members).size(), 1U);
  EXPECT_EQ(events.outlook(members).loss, 3);
  take(events, 3, members);
  EXPECT_FALSE(events.outlook(members).loss);
}

TEST(MemberEvents, AShortFreezeIsOnlySlow) {
  MemberEvents events(
      cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 1.5}}));
  Membership members(3);
  const Outlook outlook = events.outlook(members);
  EXPECT_FALSE(outlook.loss);
  ASSERT_EQ(outlook.frozen.size(), 1U);
  EXPECT_EQ(outlook.frozen[0].until, 2.5);
  EXPECT_TRUE(take(events, 10, members).empty());
}

TEST(MemberEvents, WhoIsFrozenLongerThanTheHeartbeatIsLostAndComesBack) {
  MemberEvents events(cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 1.5},
                               {.at = 2, .kind = EventKind::kFreezes, .worker = 1, .seconds = 4}}));
  Membership members(3);
  EXPECT_EQ(events.outlook(members).loss, 3) << "two that overlap are one";
  const auto first = take(events, 3, members);
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].kind, EventKind::kDies);
  EXPECT_EQ(events.outlook(members).change, 6);
  EXPECT_EQ(events.next_join(100), 6);
  EXPECT_EQ(take(events, 6, members).size(), 1U);
  EXPECT_EQ(members.size(), 3);
}

TEST(MemberEvents, AProcessInPlaceOfAFrozenOneIsNotFrozen) {
  MemberEvents events(cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 9}}));
  Membership members(3);
  take(events, 3, members);
  events.respawn(1, 3);
  EXPECT_EQ(events.next_join(100), 10) << "it comes back by itself";
  members.join(1, 4, "");
  EXPECT_TRUE(events.outlook(members).frozen.empty());
  EXPECT_TRUE(take(events, 10, members).empty()) << "its place is taken";
}

TEST(MemberEvents, WhoIsNotThereCannotFreeze) {
  MemberEvents events(cluster({{.at = 1, .kind = EventKind::kLeaves, .worker = 1},
                               {.at = 2, .kind = EventKind::kFreezes, .worker = 1, .seconds = 9}}));
  Membership members(3);
  EXPECT_EQ(take(events, 50, members).size(), 1U);
}

TEST(MemberEvents, LeavingAndJoiningEndATermInOrder) {
  MemberEvents events(cluster({{.at = 4, .kind = EventKind::kLeaves, .worker = 0},
                               {.at = 5, .kind = EventKind::kJoins, .worker = 7},
                               {.at = 6, .kind = EventKind::kJoins, .worker = 1}}));
  Membership members(3);
  EXPECT_EQ(events.outlook(members).change, 4);
  EXPECT_EQ(events.next_join(4.5), std::nullopt);
  EXPECT_EQ(events.next_join(5), 5);
  take(events, 6, members);
  EXPECT_EQ(members.ids(), (std::vector<int>{0, 1, 2, 7})) << "the lowest that is free";
}

TEST(MemberEvents, NobodyLeavesATermThatIsCutOff) {
  MemberEvents events(cluster({{.at = 4, .kind = EventKind::kLeaves, .worker = 0},
                               {.at = 5, .kind = EventKind::kDies, .worker = 1}}));
  Membership members(3);
  const auto lost = events.next(5, members, false);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->process(), (ProcessId{ProcessKind::kWorker, 1}));
  members.leave(1, 5, "");
  EXPECT_FALSE(events.next(5, members, false));
  ASSERT_TRUE(events.outlook(members).change) << "the next term should end soon";
  EXPECT_LE(*events.outlook(members).change, 5);
  take(events, 5.1, members);
  EXPECT_EQ(members.ids(), (std::vector<int>{2}));
}

TEST(MemberEvents, AServerDiesOrFallsSilentWithoutComingBack) {
  MemberEvents events(cluster({{.at = 1, .kind = EventKind::kDies, .server = 1},
                               {.at = 2, .kind = EventKind::kFreezes, .seconds = 1, .server = 0},
                               {.at = 4, .kind = EventKind::kFreezes, .seconds = 9, .server = 0}}));
  const Membership members(3);
  const std::vector<int> servers = {0};
  const Present present(members, servers);
  const Outlook outlook = events.outlook(present);
  EXPECT_EQ(outlook.loss, 6) << "server 1 has no part in the term";
  ASSERT_EQ(outlook.frozen.size(), 2U);
  EXPECT_EQ(outlook.frozen[0].process, (ProcessId{ProcessKind::kServer, 0}));
  EXPECT_FALSE(events.next(5, present));
  const auto lost = events.next(6, present);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->server, 0);
  EXPECT_FALSE(events.next_join(100));
  EXPECT_TRUE(events.outlook(present).frozen.empty()) << "another process is in its place";
}

TEST(MemberEvents, ChurnHasALossInSight) {
  ClusterSpec spec = cluster({});
  spec.churn = Churn{.mtbf = 10, .mttr = 1};
  MemberEvents events(spec);
  EXPECT_TRUE(events.any());
  EXPECT_TRUE(events.outlook(Membership(3)).loss);
}

TEST(MemberEvents, ChurnThatConcernsNobodyDoesNotHang) {
  ClusterSpec spec = cluster({});
  spec.churn = Churn{.mtbf = 10, .mttr = 1};
  MemberEvents events(spec);
  Membership members(1);
  members.join(9, 0, "");
  members.leave(0, 0, "");
  const Outlook outlook = events.outlook(members);
  EXPECT_FALSE(outlook.loss);
  EXPECT_TRUE(outlook.change);
}

TEST(MemberEvents, GoOnFromTheirState) {
  const ClusterSpec spec =
      cluster({{.at = 1, .kind = EventKind::kDies, .worker = 1},
               {.at = 1.5, .kind = EventKind::kFreezes, .worker = 0, .seconds = 9},
               {.at = 8, .kind = EventKind::kLeaves, .worker = 2}});
  MemberEvents before(spec);
  Membership members(3);
  take(before, 1, members);
  before.respawn(1, 1);
  take(before, 1.7, members);
  MemberEvents after(spec);
  restore(after, state_of(before));
  const Outlook outlook = after.outlook(members);
  EXPECT_EQ(outlook.loss, 3.5);
  EXPECT_EQ(outlook.change, 2);
  ASSERT_EQ(outlook.frozen.size(), 1U);
}

}  // namespace
}  // namespace motley
