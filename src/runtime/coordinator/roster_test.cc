#include "runtime/coordinator/roster.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley {
namespace {

constexpr SilenceLimits kLimits{.to_join = 60, .heartbeat = 5};

Roster joined(int workers, int servers) {
  Roster roster(workers, servers);
  for (Rank rank = 0; rank < roster.size(); ++rank) {
    roster[rank].endpoint = Endpoint{"host", static_cast<std::uint16_t>(1 + rank)};
  }
  return roster;
}

std::vector<Rank> ranks_of(const std::vector<Silence>& silences) {
  std::vector<Rank> ranks;
  for (const Silence& silence : silences) {
    ranks.push_back(silence.rank);
  }
  return ranks;
}

TEST(Roster, NamesWorkersAndServers) {
  const Roster roster(3, 2);
  EXPECT_EQ(roster.size(), 5);
  EXPECT_EQ(roster.name(2), "worker 2");
  EXPECT_EQ(roster.name(3), "server 0");
  EXPECT_TRUE(roster.is_worker(2));
  EXPECT_FALSE(roster.is_worker(3));
  EXPECT_FALSE(roster.contains(5));
  EXPECT_FALSE(roster.contains(kCoordinator));
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
  EXPECT_EQ(ranks_of(silent), std::vector<Rank>{1});  // rank 0 has joined, so it may be silent
  EXPECT_EQ(silent[0].patience, 60);
}

TEST(Roster, WhoIsIntroducedHasToGiveSignsOfLife) {
  Roster roster = joined(2, 1);
  const auto endpoints = roster.introduce(10);
  ASSERT_EQ(endpoints.size(), 3U);
  EXPECT_EQ(endpoints[2].port, 3);
  roster[1].heard = 14;
  EXPECT_TRUE(roster.silent(15, kLimits).empty());
  EXPECT_EQ(ranks_of(roster.silent(16, kLimits)), (std::vector<Rank>{0, 2}));
}

TEST(Roster, TimeInWhichNobodyCouldBeHeardIsNotSilence) {
  Roster roster = joined(1, 0);
  roster.introduce(0);
  roster.excuse(3);
  EXPECT_TRUE(roster.silent(8, kLimits).empty());
  EXPECT_FALSE(roster.silent(8.5, kLimits).empty());
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
  roster.introduce(0);
  Seconds now = 0;
  for (int i = 0; i < 50; ++i) {
    now += *rc::gen::inRange(0, 30) / 10.0;
    for (Rank rank = 0; rank < workers; ++rank) {
      const bool is_silent = now - roster[rank].heard > kLimits.heartbeat;
      const auto silent = ranks_of(roster.silent(now, kLimits));
      RC_ASSERT(is_silent == (std::ranges::count(silent, rank) == 1));
    }
    roster[*rc::gen::inRange(0, workers)].heard = now;
  }
}

}  // namespace
}  // namespace motley
