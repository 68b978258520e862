#include "runtime/run/succession.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using Before = std::vector<std::optional<Rank>>;

constexpr ProcessId kServer1{ProcessKind::kServer, 1};
constexpr ProcessId kWorker2{ProcessKind::kWorker, 2};

Job job_with(int workers, int servers) {
  Job job;
  job.strategy.sync = "ps_asp";
  job.cluster.workers = workers;
  job.strategy.ps.servers = servers;
  return job;
}

TEST(Succession, WhoWasLostAndIsThereAgainIsANewcomer) {
  const Job job = job_with(4, 2);
  const EndedTerm ended{job, job, {{0, 1, 2, 3}, {0, 1}}, {kServer1, kWorker2}, Continuation{}};
  const StateChange change = change_after(ended, {{0, 1, 2, 7}, {0, 1}});
  EXPECT_EQ(change.members.previous, (Before{0, 1, std::nullopt, std::nullopt}));
  EXPECT_EQ(change.ids, (std::vector<int>{0, 1, 2, 7}));
  ASSERT_TRUE(change.servers);
  EXPECT_EQ(change.servers->previous, (Before{0, std::nullopt}));
  EXPECT_TRUE(change.is_cut_off);
  EXPECT_EQ(change.undone, std::vector<bool>(4, true));
}

TEST(Succession, ATermHasNoMoreServersThanWorkers) {
  const Job job = job_with(4, 3);
  EXPECT_EQ(members_of_term(job, {1, 3}, {0, 1, 2}), (TermMembers{{1, 3}, {0, 1}}));
  EXPECT_EQ(members_of_term(job, {1, 2, 3}, {1, 2}), (TermMembers{{1, 2, 3}, {1, 2}}));
}

TEST(Succession, OnlyWhatOthersTakeOverIsFetched) {
  const Job job = job_with(4, 1);
  EndedTerm ended{job, job, {{0, 1, 2, 3}, {0}}, {kWorker2}, Continuation{}};
  const TermMembers left{{0, 1, 3}, {0}};
  EXPECT_EQ(models_needed(ended, left), std::vector<bool>(4, false));
  ended.cut_off->newest = 3;
  ended.cut_off->behind = {1};
  EXPECT_EQ(models_needed(ended, left), (std::vector<bool>{false, true, false, true}))
      << "the newest one, and what is its own of the one behind";
  ended.cut_off = Continuation{};
  EXPECT_EQ(models_needed(ended, {{0, 1, 3, 4}, {0}}), (std::vector<bool>{true, true, false, true}))
      << "newcomers begin with the mean";
  ended.lost.clear();
  ended.cut_off.reset();
  EXPECT_EQ(models_needed(ended, left), std::vector<bool>(4, true))
      << "worker 2 leaves its model to all";
  EXPECT_EQ(models_needed(ended, {{0, 1, 2, 3}, {0}}), std::vector<bool>(4, false));
}

}  // namespace
}  // namespace motley
