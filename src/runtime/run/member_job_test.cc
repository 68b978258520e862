#include "runtime/run/member_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <type_traits>

#include "job/parse.h"
#include "job/print.h"
#include "motley/sync/hop.h"
#include "motley/sync/partial_reduce.h"
#include "sync/registry.h"
#include "tests/random_job.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

using Numbers = std::vector<double>;
using Ids = std::vector<int>;

Ids all_of(int workers) {
  Ids ids(static_cast<std::size_t>(workers));
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

// Some of the workers, and newcomers.
Ids random_members(int workers) {
  const int kind = *rc::gen::inRange(0, 4);
  std::set<int> ids;
  for (int id = 0; id < workers; ++id) {
    if (kind == 0 || *rc::gen::inRange(0, 4) > kind - 1) {
      ids.insert(id);
    }
  }
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    ids.insert(workers + *rc::gen::inRange(0, 10));
  }
  if (ids.empty() || *rc::gen::inRange(0, 8) == 0) {
    ids = {*rc::gen::inRange(0, workers + 3)};
  }
  return {ids.begin(), ids.end()};
}

// Every list with a value per worker has as many as there are members, or is not given.
void check_sizes(Job term, std::size_t members) {
  for (const Key<Job>& key : job_schema().keys()) {
    std::visit(
        [&]<class Place>(Place place) {
          if constexpr (std::is_same_v<Place, std::vector<double>& (*)(Job&)> ||
                        std::is_same_v<Place, std::vector<int>& (*)(Job&)> ||
                        std::is_same_v<Place, std::vector<std::int64_t>& (*)(Job&)>) {
            if (std::holds_alternative<PerWorker>(key.rule)) {
              RC_ASSERT(place(term).empty() || place(term).size() == members);
            }
          }
        },
        key.place);
  }
}

void check_term(const Job& run, const Ids& ids) {
  const Job term = job_of_members(run, ids);
  RC_ASSERT(term.cluster.workers == std::ssize(ids));
  check_sizes(term, ids.size());
  RC_ASSERT(std::ranges::is_sorted(term.cluster.events, {}, &ClusterEvent::at));
  RC_ASSERT(!refusal_of_members(run, ids));
  const std::string text = to_toml(job_schema(), term);
  const auto back = parse_job(job_schema(), text, "job.toml", {}, Mode::kConfig);
  if (!back) {
    RC_FAIL(back.error().message + "\n" + text);
  }
  RC_ASSERT(to_toml(job_schema(), *back) == text);
}

Job without_member_events(Job job) {
  std::erase_if(job.cluster.events,
                [](const ClusterEvent& event) { return concerns_members(event.kind); });
  job.cluster.churn.reset();
  return job;
}

RC_GTEST_PROP(MemberJob, IsAValidJobWithAnyMembersOfEveryMethod, ()) {
  for (const Choice& method : job_schema().methods()) {
    Job run = random_job(method.name);
    run.train.batch += 64;  // newcomers need samples
    check_term(run, random_members(run.cluster.workers));
  }
}

RC_GTEST_PROP(MemberJob, WithAllWorkersIsTheJobOfTheRun, ()) {
  const Job run = random_job();
  RC_ASSERT(to_toml(job_schema(), job_of_members(run, all_of(run.cluster.workers))) ==
            to_toml(job_schema(), without_member_events(run)));
}

// A strongly connected list of edges: a cycle and some more.
std::vector<Edge> random_edges(int workers) {
  std::vector<Edge> edges;
  for (int rank = 0; workers > 1 && rank < workers; ++rank) {
    edges.push_back({rank, (rank + 1) % workers});
    const int to = *rc::gen::inRange(0, workers);
    if (to != rank && *rc::gen::arbitrary<bool>()) {
      edges.push_back({rank, to});
    }
  }
  return edges;
}

RC_GTEST_PROP(MemberJob, KeepsEveryGraphConnectedAndItsQueuesShort, ()) {
  Job run = random_job("hop");
  run.train.batch += 64;
  HopOptions& options = run.strategy.of<HopOptions>();
  options = {};
  options.graph = *rc::gen::element(GraphKind::kRing, GraphKind::kRingBased, GraphKind::kComplete,
                                    GraphKind::kEdges, GraphKind::kEdges, GraphKind::kDoubleRing);
  options.edges = random_edges(run.cluster.workers);
  if (options.graph != GraphKind::kEdges) {
    options.edges.clear();
  }
  options.mode = *rc::gen::element(HopMode::kStandard, HopMode::kBackup, HopMode::kStaleness,
                                   HopMode::kNotifyAck);
  options.max_gap = options.mode == HopMode::kBackup ? 5 : *rc::gen::element(0, 3);
  options.staleness = *rc::gen::element(0, 5, 400, 1000);
  options.backup = *rc::gen::inRange(0, 4);
  const auto parsed =
      parse_job(job_schema(), to_toml(job_schema(), run), "job.toml", {}, Mode::kConfig);
  RC_PRE(parsed.has_value());
  check_term(*parsed, random_members(run.cluster.workers));
}

// Worker 0 is joined with all others, which are a cycle.
Job hub_and_cycle(int workers) {
  Job job;
  job.strategy.sync = "hop";
  job.cluster.workers = workers;
  HopOptions& options = job.strategy.of<HopOptions>();
  options.graph = GraphKind::kEdges;
  options.mode = HopMode::kStaleness;
  for (Rank rank = 1; rank < workers; ++rank) {
    options.edges.insert(options.edges.end(),
                         {{0, rank}, {rank, 0}, {rank, rank % (workers - 1) + 1}});
  }
  return job;
}

// All neighbours of a hub that is lost are joined if the rest of the graph is too long for queues.
TEST(MemberJob, RepairsAGraphSoThatItsQueuesHaveRoom) {
  Job run = hub_and_cycle(8);
  run.strategy.of<HopOptions>().staleness = 1000;
  const auto diameter = [&] {
    const Job term = job_of_members(run, {1, 2, 3, 4, 5, 6, 7});
    return term.strategy.of<HopOptions>().graph_among(7).diameter();
  };
  EXPECT_EQ(diameter(), 1);
  run.strategy.of<HopOptions>().staleness = 100;
  EXPECT_EQ(diameter(), 6) << "the cycle is enough";
}

Job small_run() {
  const char* text = R"([cluster]
workers = 4
speeds = [1, 2, 3, 4]
overhead = [0.1, 0.2, 0.3, 0.4]
hosts = [7, 7, 0, 2]
bandwidth = [10, 10, 20, 30]
bandwidth_up = 5
latency = [[0, 1, 2, 3], [9, 0, 2, 3], [4, 4, 0, 5], [6, 6, 7, 0]]
min_workers = 3
[train]
micro_batch = [8, 4, 2, 16]
[strategy]
allocation = "static"
shares = [1, 2, 3, 6]
[[cluster.event]]
at = 1
worker = 3
speed = 9
[[cluster.event]]
at = 2
kind = "bandwidth"
worker = 0
bandwidth = 99
[[cluster.event]]
at = 3
worker = 0
speed = 8
[[cluster.event]]
at = 4
kind = "dies"
worker = 1
)";
  const auto job = parse_job(job_schema(), text, "job.toml", {}, Mode::kConfig);
  EXPECT_TRUE(job) << job.error().message;
  return job.value_or(Job{});
}

TEST(MemberJob, ArrangesListsById) {
  const Job term = job_of_members(small_run(), {1, 3, 5});
  EXPECT_EQ(term.cluster.workers, 3);
  EXPECT_EQ(term.cluster.min_workers, 3);
  EXPECT_EQ(term.cluster.speeds, (Numbers{2, 4, 1}));
  EXPECT_EQ(term.cluster.overhead, (Numbers{0.2, 0.4, 0}));
  EXPECT_EQ(term.cluster.hosts, (Ids{7, 2, 3})) << "machine 1 would be that of worker 4";
  EXPECT_EQ(term.cluster.bandwidth, (Numbers{10, 30, 1.25e9}));
  EXPECT_EQ(term.cluster.bandwidth_up, (Numbers{5, 5, 5})) << "one number stands for all";
  EXPECT_EQ(term.cluster.latency,
            Latency::matrix(3, {0, 3, 50e-6, 6, 0, 50e-6, 50e-6, 50e-6, 50e-6}));
  EXPECT_EQ(term.train.micro_batch, (std::vector<std::int64_t>{4, 16, 2}));
  EXPECT_EQ(term.strategy.shares, (Numbers{2, 6, 3}));
}

TEST(MemberJob, ArrangesEventsById) {
  const Job term = job_of_members(small_run(), {1, 3});
  ASSERT_EQ(term.cluster.events.size(), 2U);
  EXPECT_EQ(term.cluster.events[0].speed, 9);
  EXPECT_EQ(term.cluster.events[0].worker, 1);
  EXPECT_EQ(term.cluster.events[1].bandwidth, 99);
  EXPECT_EQ(term.cluster.events[1].worker, 0) << "worker 1 has the link of worker 0";
}

TEST(MemberJob, HasNoMoreServersThanWorkers) {
  const auto run = parse_job(job_schema(),
                             "cluster.workers = 3\ncluster.server_hosts = [0, 1, 9]\n"
                             "strategy = {sync = \"ps_bsp\", ps.servers = 3}",
                             "job.toml", {}, Mode::kConfig);
  ASSERT_TRUE(run) << run.error().message;
  const Job term = job_of_members(*run, {1, 2});
  EXPECT_EQ(term.strategy.ps.servers, 2);
  EXPECT_EQ(term.cluster.server_hosts, (Ids{0, 1}));
  EXPECT_EQ(term.cluster.hosts, (Ids{1, 2})) << "server 1 is still with worker 1";
}

TEST(MemberJob, HasTheServersThatAreThere) {
  const auto run = parse_job(job_schema(),
                             "cluster.workers = 3\ncluster.server_hosts = [0, 1, 9]\n"
                             "strategy = {sync = \"ps_bsp\", ps.servers = 3}",
                             "job.toml", {}, Mode::kConfig);
  ASSERT_TRUE(run) << run.error().message;
  const Job term = job_of_members(*run, {0, 1, 2}, {0, 2});
  EXPECT_EQ(term.strategy.ps.servers, 2);
  EXPECT_EQ(term.cluster.server_hosts, (Ids{0, 9}));
  EXPECT_EQ(servers_of_members(*run, 1, {1, 2}), (Ids{1}));
  EXPECT_FALSE(refusal_of_members(*run, {0, 1, 2}, {2}));
  EXPECT_EQ(refusal_of_members(*run, {0, 1, 2}, {}), "no server is left");
}

TEST(MemberJob, TooManyMembersAreRefused) {
  Job run = small_run();
  run.train.batch = 4;
  EXPECT_FALSE(refusal_of_members(run, {0, 1, 2, 7}));
  EXPECT_EQ(refusal_of_members(run, {0, 1, 2, 3, 4}),
            "train.batch is 4, which is too few samples for 5 workers");
}

// Whatever the members are, the methods run with them to the end.
TEST(MemberJob, RunsWithAnyMembers) {
  std::vector<std::string> settings = {
      "sync = 'partial_reduce'\npartial_reduce.group = 4\npartial_reduce.weights = 'dynamic'",
      "sync = 'partial_reduce'\npartial_reduce.group = 5\npartial_reduce.policy = 'window'",
      "sync = 'hop'\nhop.graph = 'double_ring'\nhop.max_gap = 3",
      "sync = 'hop'\nhop.graph = 'complete'\nhop.mode = 'backup'\nhop.backup = 3\nhop.max_gap = 5",
      "sync = 'hop'\nhop.graph = 'ring_based'\nhop.mode = 'staleness'",
      "sync = 'hop'\nhop.graph = 'edges'\nhop.mode = 'notify_ack'\n"
      "hop.edges = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 0]]",
  };
  for (const Choice& method : job_schema().methods()) {
    settings.push_back(fmt::format("sync = '{}'", method.name));
  }
  for (const std::string& setting : settings) {
    const auto run = parse_job(job_schema(),
                               "[cluster]\nworkers = 6\nunit = 1e-3\nspeeds = [1, 2, 1, 3, 1, 1]\n"
                               "[train]\nbatch = 48\nsteps = 20\neval_every = 0\n"
                               "[strategy]\nps.servers = 3\n" +
                                   setting,
                               "job.toml", {}, Mode::kConfig);
    ASSERT_TRUE(run) << run.error().message;
    for (const Ids& ids : {Ids{3}, Ids{0, 4}, Ids{1, 2, 5}, Ids{7}, Ids{0, 1, 2, 3, 4, 5, 6, 9}}) {
      const RunOutcome outcome = simulate_phantom(job_of_members(*run, ids));
      EXPECT_EQ(outcome.samples, 20 * 48) << setting << " with " << ids.size();
    }
  }
}

}  // namespace
}  // namespace motley
