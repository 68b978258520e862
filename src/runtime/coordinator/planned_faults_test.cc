#include "runtime/coordinator/planned_faults.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "runtime/simulate/member_events.h"

namespace motley::planned_faults_test {
namespace {

using Action = PlannedFault::Action;

ClusterSpec cluster(std::vector<ClusterEvent> events) {
  ClusterSpec spec;
  spec.workers = 3;
  spec.heartbeat = 2;
  spec.events = std::move(events);
  return spec;
}

// What there is to do up to now. It is done as a run does it: who is killed is lost at once, and a
// worker that is started has joined.
std::vector<PlannedFault> take(PlannedFaults& faults, Seconds now, Membership& members,
                               std::span<const int> servers = {}) {
  std::vector<PlannedFault> all;
  while (const auto fault = faults.next(now, {members, servers})) {
    all.push_back(*fault);
    const bool is_worker = fault->process.kind == ProcessKind::kWorker;
    if (fault->action == Action::kStart) {
      members.join(fault->process.id, now, "");
    } else if (fault->action == Action::kKill) {
      EXPECT_FALSE(faults.lose(fault->process)) << "it is killed for good";
      is_worker ? members.leave(fault->process.id, now, "") : void();
    } else if (fault->action == Action::kAskToLeave) {
      members.leave(fault->process.id, now, "");
    }
  }
  return all;
}

std::vector<Action> actions_of(const std::vector<PlannedFault>& faults) {
  std::vector<Action> actions;
  for (const PlannedFault& fault : faults) {
    actions.push_back(fault.action);
  }
  return actions;
}

using Actions = std::vector<Action>;

TEST(PlannedFaults, HappenAtTheirTimes) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kDies, .worker = 1},
                                {.at = 2, .kind = EventKind::kSpeed, .worker = 0},
                                {.at = 3, .kind = EventKind::kLeaves, .worker = 2},
                                {.at = 4, .kind = EventKind::kJoins, .worker = 7}}));
  Membership members(3);
  EXPECT_TRUE(take(faults, 0.5, members).empty());
  EXPECT_EQ(actions_of(take(faults, 1, members)), Actions{Action::kKill});
  EXPECT_TRUE(take(faults, 2.9, members).empty());
  EXPECT_EQ(actions_of(take(faults, 3.1, members)), Actions{Action::kAskToLeave});
  EXPECT_EQ(actions_of(take(faults, 99, members)), Actions{Action::kStart});
  EXPECT_EQ(members.ids(), (std::vector<int>{0, 7}));
}

TEST(PlannedFaults, WhoIsNotThereIsLeftAlone) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kDies, .worker = 1},
                                {.at = 2, .kind = EventKind::kDies, .worker = 1},
                                {.at = 2, .kind = EventKind::kFreezes, .worker = 1, .seconds = 1},
                                {.at = 2, .kind = EventKind::kLeaves, .worker = 1},
                                {.at = 2, .kind = EventKind::kDies, .server = 1}}));
  Membership members(3);
  const std::vector<int> servers = {0};
  EXPECT_EQ(take(faults, 99, members, servers).size(), 1U);
}

TEST(PlannedFaults, AServerDies) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kDies, .server = 0}}));
  Membership members(3);
  const std::vector<int> servers = {0};
  const auto all = take(faults, 1, members, servers);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].process, (ProcessId{ProcessKind::kServer, 0}));
  EXPECT_EQ(members.size(), 3);
}

TEST(PlannedFaults, WhoeverJoinsForSomebodyWhoIsThereGetsAnotherId) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kJoins, .worker = 1},
                                {.at = 1, .kind = EventKind::kDies, .worker = 0},
                                {.at = 1, .kind = EventKind::kJoins, .worker = 0}}));
  Membership members(3);
  EXPECT_EQ(actions_of(take(faults, 1, members)),
            (Actions{Action::kStart, Action::kKill, Action::kStart}));
  EXPECT_EQ(members.ids(), (std::vector<int>{0, 1, 2, 3}));
}

TEST(PlannedFaults, AFreezeEnds) {
  PlannedFaults faults(
      cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 1},
               {.at = 1.5, .kind = EventKind::kFreezes, .worker = 1, .seconds = 2},
               {.at = 1.6, .kind = EventKind::kFreezes, .worker = 1, .seconds = 0.1}}));
  Membership members(3);
  EXPECT_EQ(actions_of(take(faults, 3.4, members)), Actions{Action::kFreeze});
  const auto thaw = take(faults, 9, members);
  EXPECT_EQ(actions_of(thaw), Actions{Action::kThaw});
  EXPECT_EQ(thaw[0].at, 3.5);
}

TEST(PlannedFaults, WhoIsLostWhileFrozenComesBackWhenItWouldHaveThawed) {
  PlannedFaults faults(
      cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 5}}));
  Membership members(3);
  take(faults, 1, members);
  EXPECT_TRUE(faults.lose({ProcessKind::kWorker, 1}));
  members.leave(1, 3, "");
  EXPECT_TRUE(take(faults, 5.9, members).empty());
  EXPECT_EQ(actions_of(take(faults, 6, members)), Actions{Action::kStart});
  EXPECT_TRUE(members.has(1));
  EXPECT_FALSE(faults.lose({ProcessKind::kWorker, 1})) << "it was not frozen any more";
}

TEST(PlannedFaults, WhoeverIsKilledWhileFrozenDoesNotThaw) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kFreezes, .worker = 1, .seconds = 5},
                                {.at = 2, .kind = EventKind::kDies, .worker = 1},
                                {.at = 3, .kind = EventKind::kJoins, .worker = 1}}));
  Membership members(3);
  EXPECT_EQ(actions_of(take(faults, 99, members)),
            (Actions{Action::kFreeze, Action::kKill, Action::kStart}));
}

TEST(PlannedFaults, AServerThatIsLostWhileFrozenIsReplacedLikeAnyOther) {
  PlannedFaults faults(
      cluster({{.at = 1, .kind = EventKind::kFreezes, .seconds = 5, .server = 0}}));
  Membership members(3);
  const std::vector<int> servers = {0};
  EXPECT_EQ(actions_of(take(faults, 1, members, servers)), Actions{Action::kFreeze});
  EXPECT_FALSE(faults.lose({ProcessKind::kServer, 0}));
  EXPECT_TRUE(take(faults, 99, members, servers).empty());
}

TEST(PlannedFaults, ARunThatGoesOnDoesNotRepeatThem) {
  PlannedFaults faults(cluster({{.at = 1, .kind = EventKind::kDies, .worker = 0},
                                {.at = 2, .kind = EventKind::kDies, .worker = 1},
                                {.at = 3, .kind = EventKind::kJoins, .worker = 1},
                                {.at = 4, .kind = EventKind::kJoins, .worker = 1},
                                {.at = 5, .kind = EventKind::kDies, .worker = 2}}));
  faults.resume(2, {2, 5});
  Membership members(3);
  EXPECT_EQ(actions_of(take(faults, 2, members)), Actions{Action::kStart});
  EXPECT_EQ(members.ids(), (std::vector<int>{0, 1, 2, 5})) << "as before, and those of the job";
  EXPECT_TRUE(take(faults, 3, members).empty()) << "worker 1 has come with the others";
  take(faults, 99, members);
  EXPECT_EQ(members.ids(), (std::vector<int>{0, 1, 3, 5}));
}

// Whom churn kills it starts again, in simulated and real runs at the same times.
RC_GTEST_PROP(PlannedFaults, ChurnIsTheSameAsInTheSimulator, ()) {
  ClusterSpec spec;
  spec.workers = *rc::gen::inRange(1, 9);
  spec.churn = Churn{.mtbf = 20, .mttr = 5, .seed = *rc::gen::inRange<std::uint64_t>(1, 1'000)};
  PlannedFaults faults(spec);
  MemberEvents events(spec);
  Membership real(spec.workers);
  Membership simulated(spec.workers);
  for (Seconds now = 0; now < 200; now += 0.5) {
    take(faults, now, real);
    while (const auto event = events.next(now, simulated)) {
      event->kind == EventKind::kJoins ? simulated.join(event->worker, now, "")
                                       : simulated.leave(event->worker, now, "");
    }
    RC_ASSERT(real.ids() == simulated.ids());
  }
}

// The same for a run that goes on from a checkpoint, as soon as everybody has died once since.
RC_GTEST_PROP(PlannedFaults, ChurnGoesOnAfterACheckpoint, ()) {
  ClusterSpec spec;
  spec.workers = *rc::gen::inRange(1, 9);
  spec.churn = Churn{.mtbf = 5, .mttr = 5, .seed = *rc::gen::inRange<std::uint64_t>(1, 1'000)};
  PlannedFaults faults(spec);
  Membership members(spec.workers);
  const Seconds saved = *rc::gen::inRange(0, 100);
  take(faults, saved, members);
  PlannedFaults resumed(spec);
  resumed.resume(saved, {members.ids().begin(), members.ids().end()});
  Membership again(spec.workers);
  for (Seconds now = saved; now < saved + 200; now += 0.5) {
    take(faults, now, members);
    take(resumed, now, again);
    RC_ASSERT(again.size() <= spec.workers);
    RC_ASSERT(std::ranges::includes(again.ids(), members.ids()));
  }
  RC_ASSERT(again.ids() == members.ids());
}

}  // namespace
}  // namespace motley::planned_faults_test
