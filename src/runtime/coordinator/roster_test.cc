#include "runtime/coordinator/roster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley {
namespace {

constexpr SilenceLimits kLimits{.to_join = 60, .heartbeat = 5};

Roster joined(int workers, int servers) {
  Roster roster(workers, servers);
  for (const Rank process : roster.members()) {
    roster[process].endpoint = Endpoint{"host", static_cast<std::uint16_t>(1 + process)};
  }
  return roster;
}

void introduce(Roster& roster, Seconds now) {
  roster.hear_all(now);
  for (const Rank process : roster.members()) {
    roster[process].introduced = true;
  }
}

std::vector<Rank> processes_of(const std::vector<Silence>& silences) {
  std::vector<Rank> processes;
  for (const Silence& silence : silences) {
    processes.push_back(silence.process);
  }
  return processes;
}

TEST(Roster, NamesWorkersAndServers) {
  const Roster roster(3, 2);
  EXPECT_EQ(roster.members(), (std::vector<Rank>{0, 1, 2, 3, 4}));
  EXPECT_EQ(roster.name(2), "worker 2");
  EXPECT_EQ(roster.name(3), "server 0");
  EXPECT_TRUE(roster.is_worker(2));
  EXPECT_FALSE(roster.is_worker(3));
  EXPECT_FALSE(roster.contains(5));
  EXPECT_FALSE(roster.contains(kCoordinator));
}

TEST(Roster, ANewcomerIsAMemberFromTheNextTermOn) {
  Roster roster = joined(3, 1);
  roster[0].done.emplace();
  roster.remove(1);
  EXPECT_TRUE(roster.is_broken());
  roster.add(4, 1, false);
  EXPECT_FALSE(roster.is_member(4));
  EXPECT_EQ(roster.member_of(1), std::nullopt);
  roster.set_members({0, 4, 2, 3});
  EXPECT_FALSE(roster.is_broken());
  EXPECT_EQ(roster.member_of(1), 4);
  EXPECT_EQ(roster.name(4), "worker 1");
  EXPECT_FALSE(roster[0].done) << "of another term";
}

TEST(Roster, KnowsWhoIsMissing) {
  Roster roster = joined(2, 1);
  roster[1].endpoint.reset();
  EXPECT_EQ(roster.missing(), std::vector<Rank>{1});
  EXPECT_FALSE(roster.all_joined());
}

TEST(Roster, WhoHasNotJoinedIsGivenTimeToJoin) {
  Roster roster = joined(2, 0);
  roster[1].endpoint.reset();
  EXPECT_TRUE(roster.silent(60, kLimits).empty());
  const auto silent = roster.silent(60.5, kLimits);
  EXPECT_EQ(processes_of(silent), std::vector<Rank>{1});  // 0 has joined, so it may be silent
  EXPECT_EQ(silent[0].patience, 60);
}

TEST(Roster, WhoIsIntroducedHasToGiveSignsOfLife) {
  Roster roster = joined(2, 1);
  introduce(roster, 10);
  roster[1].heard = 14;
  EXPECT_TRUE(roster.silent(16, kLimits).empty()) << "perhaps a blip of almost one heartbeat";
  const auto silent = roster.silent(16.5, kLimits);
  EXPECT_EQ(processes_of(silent), (std::vector<Rank>{0, 2}));
  EXPECT_EQ(silent[0].patience, 5);
  roster[0].can_leave = true;
  EXPECT_EQ(processes_of(roster.silent(16.5, kLimits)), std::vector<Rank>{2});
}

TEST(Roster, TimeInWhichNobodyCouldBeHeardIsNotSilence) {
  Roster roster = joined(1, 0);
  introduce(roster, 0);
  roster.excuse(3);
  EXPECT_TRUE(roster.silent(9, kLimits).empty());
  EXPECT_FALSE(roster.silent(9.5, kLimits).empty());
}

TEST(Roster, IsDoneWhenAllAre) {
  Roster roster = joined(1, 1);
  roster[0].done = DoneInfo{.result = {}, .cluster_samples = 5};
  EXPECT_FALSE(roster.all_done());
  roster[1].done.emplace();
  ASSERT_TRUE(roster.all_done());
  EXPECT_EQ(roster.results()[0].cluster_samples, 5);
}

TEST(MachinesOf, AreNumberedAsTheyOccur) {
  EXPECT_EQ(machines_of({"b", "a", "b", "c"}), (std::vector<int>{0, 1, 0, 2}));
}

RC_GTEST_PROP(RosterProperty, NobodyWhoBeatsInTimeIsSilent, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  Roster roster = joined(workers, 0);
  introduce(roster, 0);
  Seconds now = 0;
  for (int i = 0; i < 50; ++i) {
    now += *rc::gen::inRange(0, 30) / 10.0;
    for (Rank rank = 0; rank < workers; ++rank) {
      const bool is_silent = now - roster[rank].heard > 1.2 * kLimits.heartbeat;
      const auto silent = processes_of(roster.silent(now, kLimits));
      RC_ASSERT(is_silent == (std::ranges::count(silent, rank) == 1));
    }
    roster[*rc::gen::inRange(0, workers)].heard = now;
  }
}

}  // namespace
}  // namespace motley
