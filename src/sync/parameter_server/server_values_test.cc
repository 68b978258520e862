#include "sync/parameter_server/server_values.h"

#include <gtest/gtest.h>

#include "motley/sync/parameter_server/held_versions.h"

namespace motley {
namespace {

using ServerNumbers = std::vector<float>;

Job job_with_servers(int servers) {
  Job job;
  job.strategy.sync = "ps_asp";
  job.strategy.ps.servers = servers;
  return job;
}

State server_with(ServerNumbers numbers, std::int64_t version) {
  State state;
  Archive archive = Archive::saving(state);
  archive.tensor(kServerValues, numbers);
  archive(kServerVersion, version);
  return state;
}

// A worker with a copy whose halves have these versions.
State worker_with(ServerNumbers copy, std::int64_t first, std::int64_t second) {
  HeldVersions versions(copy.size(), first);
  versions.set(copy.size() / 2, copy.size() - copy.size() / 2, second);
  std::optional<HeldVersions> held = versions;
  State state;
  Archive archive = Archive::saving(state);
  archive(kHeldVersions, held);
  archive.tensor(kHeldCopy, copy);
  return state;
}

ServerNumbers numbers_of(const State& server) {
  ServerNumbers numbers;
  Archive archive = Archive::restoring(server);
  archive.tensor(kServerValues, numbers);
  return numbers;
}

std::vector<State> fit(const MethodState& before, int servers) {
  const Job job = job_with_servers(servers);
  const MemberChange workers = MemberChange::first_stay(2, 2);
  const MemberChange change =
      MemberChange::first_stay(static_cast<int>(before.servers.size()), servers);
  std::vector<State> now;
  fit_server_values(before, {.job = job, .members = workers, .servers = change}, now);
  return now;
}

TEST(ServerValues, ALostServerGetsTheNewestCopy) {
  const std::vector<State> now =
      fit({.service = {},
           .workers = {worker_with({1, 1, 1, 1}, 3, 5), {}, worker_with({2, 2, 2, 2}, 4, 4)},
           .servers = {State{}, server_with({9, 9}, 8)}},
          2);
  EXPECT_EQ(numbers_of(now[0]), (ServerNumbers{2, 2}));
  EXPECT_EQ(saved_value<std::int64_t>(now[0], kServerVersion), 4);
  EXPECT_EQ(numbers_of(now[1]), (ServerNumbers{9, 9})) << "it is there";
  EXPECT_EQ(saved_value<std::int64_t>(now[1], kServerVersion), 8);
}

TEST(ServerValues, FewerServersShareWhatAllHadAndWhatIsRebuilt) {
  const std::vector<State> now =
      fit({.service = {},
           .workers = {worker_with({1, 2, 3, 4}, 3, 5), worker_with({5, 6, 7, 8}, 4, 4)},
           .servers = {State{}, State{}}},
          1);
  ASSERT_EQ(now.size(), 1U);
  EXPECT_EQ(numbers_of(now[0]), (ServerNumbers{5, 6, 3, 4}));
  EXPECT_EQ(saved_value<std::int64_t>(now[0], kServerVersion), 5);
}

TEST(ServerValues, WithoutCopiesTheFirstWorkerBeginsAnew) {
  const std::vector<State> now =
      fit({.service = {}, .workers = {{}, {}}, .servers = {State{}, server_with({1}, 1)}}, 2);
  EXPECT_TRUE(now[0].empty());
  EXPECT_TRUE(now[1].empty());
}

TEST(ServerValues, CopiesOfOtherSizesAreRefused) {
  EXPECT_THROW(fit({.service = {},
                    .workers = {worker_with({1, 2}, 0, 0), worker_with({1, 2, 3}, 0, 0)},
                    .servers = {State{}}},
                   1),
               StateError);
}

}  // namespace
}  // namespace motley
