// The machines, links and events of job files: what is read, and what is refused.
#include <gtest/gtest.h>

#include "tests/job_text.h"

namespace motley {
namespace {

using Numbers = std::vector<double>;
using Hosts = std::vector<int>;

TEST(Machines, AreReadFromAJob) {
  const ClusterSpec cluster = good(R"([strategy]
sync = "ps_bsp"
ps.servers = 2
[cluster]
workers = 4
hosts = [0, 0, 7, 7]
server_hosts = [7, 8]
bandwidth_up = [1e6, 1e6, 2e6, 2e6]
bandwidth_down = 3e6
backbone = 5e9
tcp_efficiency = 0.94
memory_bandwidth = 2e10
memory_latency = 1e-6
)")
                                  .cluster;
  EXPECT_EQ(cluster.hosts, (Hosts{0, 0, 7, 7}));
  EXPECT_EQ(cluster.server_hosts, (Hosts{7, 8}));
  EXPECT_EQ(cluster.bandwidth, Numbers(4, 1.25e9));
  EXPECT_EQ(cluster.bandwidth_up, (Numbers{1e6, 1e6, 2e6, 2e6}));
  EXPECT_EQ(cluster.bandwidth_down, Numbers(4, 3e6));
  EXPECT_EQ(cluster.backbone, 5e9);
  EXPECT_EQ(cluster.tcp_efficiency, 0.94);
  EXPECT_EQ(cluster.memory_bandwidth, 2e10);
  EXPECT_EQ(cluster.memory_latency, 1e-6);
}

TEST(Machines, AreOnePerWorkerWithLinksThatAreEqualBothWaysByDefault) {
  const ClusterSpec cluster = good("strategy.sync = 'ps_bsp'").cluster;
  EXPECT_TRUE(cluster.hosts.empty());
  EXPECT_TRUE(cluster.server_hosts.empty());
  EXPECT_TRUE(cluster.bandwidth_up.empty());
  EXPECT_TRUE(cluster.bandwidth_down.empty());
  EXPECT_FALSE(cluster.backbone);
  EXPECT_EQ(cluster.latency, 50e-6);
}

TEST(Machines, OneNumberIsForAll) {
  const ClusterSpec cluster =
      good("cluster.hosts = 3\ncluster.server_hosts = 5\nstrategy.sync = 'ps_bsp'",
           {"strategy.ps.servers=2"})
          .cluster;
  EXPECT_EQ(cluster.hosts, Hosts(4, 3));
  EXPECT_EQ(cluster.server_hosts, Hosts(2, 5));
}

// So that --set strategy.sync or a variant can choose a method with servers.
TEST(Machines, OfServersMayBeGivenWithAMethodThatHasNone) {
  EXPECT_TRUE(good("cluster.server_hosts = [0, 1, 2]").cluster.server_hosts.empty());
  EXPECT_EQ(error_of("cluster.server_hosts = [0, 1, 2]", {"strategy.sync=ps_bsp"}),
            "job.toml:1: cluster.server_hosts has 3 entries, but strategy.ps.servers is 1");
}

TEST(Machines, WrongValuesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"hosts = [0, 1]", "cluster.hosts has 2 entries, but cluster.workers is 4"},
      {"hosts = [0, 1, -2, 3]", "cluster.hosts[2] is -2, but must be from 0 to 1000000"},
      {"hosts = [0, 1, 0.5, 3]", "cluster.hosts[2] is a float, but should be an integer"},
      {"hosts = 'a'",
       "cluster.hosts is a string, but should be an integer, or an array of integers, one per "
       "worker"},
      {"server_hosts = 'a'",
       "cluster.server_hosts is a string, but should be an integer, or an array of integers, one "
       "per server"},
      {"bandwidth_up = [1e9]", "cluster.bandwidth_up has 1 entries, but cluster.workers is 4"},
      {"bandwidth_down = 0", "cluster.bandwidth_down is 0, but must be from 1 to 1000000000000000"},
      {"backbone = 0", "cluster.backbone is 0, but must be from 1 to 1000000000000000"},
      {"tcp_efficiency = 0", "cluster.tcp_efficiency is 0, but must be from 0.001 to 1"},
      {"tcp_efficiency = 1.1", "cluster.tcp_efficiency is 1.1, but must be from 0.001 to 1"},
      {"memory_bandwidth = 0",
       "cluster.memory_bandwidth is 0, but must be from 1 to 1000000000000000"},
      {"memory_latency = -1", "cluster.memory_latency is -1, but must be from 0 to 1000000"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(std::string("[cluster]\n") + text), std::string("job.toml:2: ") + message);
  }
}

TEST(Machines, HaveOneLink) {
  constexpr std::string_view kHosts = "[cluster]\nworkers = 3\nhosts = [4, 1, 4]\n";
  const auto error = [&](const std::string& text) { return error_of(std::string(kHosts) + text); };
  EXPECT_EQ(error("bandwidth = [1e6,\n 2e6,\n 3e6]"),
            "job.toml:6: cluster.bandwidth is 1000000 for worker 0, but 3000000 for worker 2: both "
            "are on one machine (cluster.hosts), which has one link: give them the same value");
  for (const std::string key : {"bandwidth_up", "bandwidth_down", "latency"}) {
    EXPECT_TRUE(error(key + " = [1, 5, 2]")
                    .starts_with("job.toml:4: cluster." + key +
                                 " is 1 for worker 0, but 2 for worker 2: both are on one machine"))
        << error(key + " = [1, 5, 2]");
    EXPECT_EQ(error(key + " = [1, 5, 1]"), "accepted");
  }
}

TEST(Machines, HaveOneLinkInAMatrixToo) {
  constexpr std::string_view kHosts = "[cluster]\nworkers = 3\nhosts = [4, 1, 4]\n";
  const auto error = [&](const std::string& text) { return error_of(std::string(kHosts) + text); };
  EXPECT_EQ(error("latency = [[0, 1, 9],\n [2, 0, 2],\n [8, 1, 0]]"), "accepted");
  EXPECT_EQ(error("latency = [[0, 1, 9],\n [2, 0, 2],\n [8, 3, 0]]"),
            "job.toml:6: cluster.latency to worker 1 is 1 for worker 0, but 3 for worker 2: both "
            "are on one machine (cluster.hosts), which has one link: give them the same value");
  EXPECT_EQ(error("latency = [[0, 1, 9],\n [2, 0, 3],\n [8, 1, 0]]"),
            "job.toml:5: cluster.latency from worker 1 is 2 for worker 0, but 3 for worker 2: both "
            "are on one machine (cluster.hosts), which has one link: give them the same value");
}

TEST(LatencyKey, IsANumberOrOnePerWorkerOrAMatrix) {
  const auto latency = [](const std::string& value) {
    return good("cluster.workers = 2\ncluster.latency = " + value).cluster.latency;
  };
  EXPECT_EQ(latency("1e-3"), 1e-3);
  EXPECT_EQ(latency("1"), 1);
  EXPECT_EQ(latency("[1, 2]"), Latency::per_worker({1, 2}));
  EXPECT_EQ(latency("[[0, 1], [2, 0.5]]"), Latency::matrix(2, {0, 1, 2, 0.5}));
}

TEST(LatencyKey, WrongValuesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"'low'",
       "cluster.latency is a string, but should be a number, an array of numbers, one per worker, "
       "or a matrix"},
      {"[1, 2, 3]", "cluster.latency has 3 entries, but cluster.workers is 2"},
      {"[]", "cluster.latency has 0 entries, but cluster.workers is 2"},
      {"[1, -2]", "cluster.latency[1] is -2, but must be from 0 to 1000000"},
      {"[1, [2]]", "cluster.latency[1] is an array, but should be a number"},
      {"[[1]]", "cluster.latency has 1 rows, but cluster.workers is 2"},
      {"[[1, 2], 3]",
       "cluster.latency[1] is an integer, but should be an array: a row of the matrix"},
      {"[[1, 2], [3]]",
       "cluster.latency[1] has 1 entries, but cluster.latency has 2 rows: a matrix needs a row and "
       "a column for every worker"},
      {"[[1, 2], [3, nan]]", "cluster.latency[1][1] is nan, but must be from 0 to 1000000"},
  };
  for (const auto& [value, message] : cases) {
    EXPECT_EQ(error_of(std::string("cluster.workers = 2\ncluster.latency = ") + value),
              std::string("job.toml:2: ") + message);
  }
}

TEST(Events, ChangeASpeedOrALink) {
  const std::vector<ClusterEvent> events = good(R"([[cluster.event]]
at = 3
worker = 1
kind = "latency"
latency = 0.25
[[cluster.event]]
at = 2
worker = 0
kind = "bandwidth"
bandwidth = 1e6
[[cluster.event]]
at = 1
worker = 2
speed = 0.5
)")
                                               .cluster.events;
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].kind, EventKind::kSpeed);
  EXPECT_EQ(events[0].speed, 0.5);
  EXPECT_EQ(events[1].kind, EventKind::kBandwidth);
  EXPECT_EQ(events[1].bandwidth, 1e6);
  EXPECT_EQ(events[2].kind, EventKind::kLatency);
  EXPECT_EQ(events[2].latency, 0.25);
  EXPECT_EQ(events[2].worker, 1);
}

TEST(Events, HaveTheKeysOfTheirKind) {
  const std::pair<const char*, const char*> cases[] = {
      {"kind = 'bandwidth'\n", "job.toml:1: cluster.event[0] needs \"bandwidth\""},
      {"kind = 'latency'\n", "job.toml:1: cluster.event[0] needs \"latency\""},
      {"", "job.toml:1: cluster.event[0] needs \"speed\""},
      {"bandwidth = 5",
       "job.toml:4: cluster.event[0].bandwidth is only for kind = \"bandwidth\", but the kind is "
       "\"speed\": remove bandwidth, or set kind = \"bandwidth\""},
      {"kind = 'bandwidth'\nbandwidth = 5\nspeed = 2",
       "job.toml:6: cluster.event[0].speed is only for kind = \"speed\", but the kind is "
       "\"bandwidth\": remove speed, or set kind = \"speed\""},
      {"kind = 'latncy'",
       "job.toml:4: cluster.event[0].kind = \"latncy\" is not a kind of event; did you mean "
       "\"latency\"? (available: speed, bandwidth, latency, dies, leaves, joins, freezes)"},
      {"kind = 'freezes'", "job.toml:1: cluster.event[0] needs \"seconds\""},
      {"kind = 'freezes'\nseconds = 0",
       "job.toml:5: cluster.event[0].seconds is 0, but must be above 0 and at most 1000000"},
      {"kind = 'dies'\nspeed = 1",
       "job.toml:5: cluster.event[0].speed is only for kind = \"speed\", but the kind is "
       "\"dies\": remove speed, or set kind = \"speed\""},
      {"kind = 'bandwidth'\nbandwidth = 0",
       "job.toml:5: cluster.event[0].bandwidth is 0, but must be from 1 to 1000000000000000"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(std::string("[[cluster.event]]\nat = 1\nworker = 0\n") + text), message);
  }
}

TEST(Events, AreOfWorkersThatExist) {
  EXPECT_EQ(error_of("[[cluster.event]]\nat = 1\nworker = 4\nkind = 'latency'\nlatency = 1"),
            "job.toml:3: cluster.event[0].worker is 4, but cluster.workers is 4 and workers "
            "count from 0");
  EXPECT_EQ(
      good("[[cluster.event]]\nat = 1\nworker = 65535\nkind = 'joins'").cluster.events.at(0).worker,
      65535)
      << "a newcomer";
}

TEST(Events, OfServersAreLossesAndFreezes) {
  const std::string text = "[[cluster.event]]\nat = 1\nserver = 1\n";
  const std::string head = "[strategy]\nsync = 'ps_asp'\n[strategy.ps]\nservers = 2\n";
  const auto event = good(head + text + "kind = 'freezes'\nseconds = 3").cluster.events.at(0);
  EXPECT_EQ(event.process(), (ProcessId{ProcessKind::kServer, 1}));
  EXPECT_EQ(good(text + "kind = 'dies'").cluster.events.size(), 1U)
      << "a method without servers may be a variant";
  EXPECT_EQ(error_of(head + text + "kind = 'leaves'"),
            "job.toml:7: cluster.event[0].server is only for kind = \"dies\" and kind = "
            "\"freezes\", but the kind is \"leaves\"");
  EXPECT_EQ(error_of(head + text + "worker = 0\nkind = 'dies'"),
            "job.toml:7: cluster.event[0] has both \"worker\" and \"server\": remove one");
  EXPECT_EQ(error_of("[strategy]\nsync = 'ps_asp'\n" + text + "kind = 'dies'"),
            "job.toml:5: cluster.event[0].server is 1, but strategy.ps.servers is 1 and servers "
            "count from 0");
  EXPECT_EQ(error_of("[[cluster.event]]\nat = 1\nkind = 'dies'"),
            "job.toml:1: cluster.event[0] needs \"worker\" or \"server\"");
}

constexpr std::string_view kMemberEvents = R"([cluster]
unit = 1
[[cluster.event]]
at = 1
worker = 0
kind = 'dies'
[[cluster.event]]
at = 2
worker = 1
kind = 'leaves'
[[cluster.event]]
at = 3
worker = 0
kind = 'joins'
[[cluster.event]]
at = 4
worker = 2
kind = 'freezes'
seconds = 2.5
)";

TEST(Events, OfMembersAreForRunsThatStartTheirWorkers) {
  const auto events = good(kMemberEvents).cluster.events;
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].kind, EventKind::kDies);
  EXPECT_EQ(events[1].kind, EventKind::kLeaves);
  EXPECT_EQ(events[2].kind, EventKind::kJoins);
  EXPECT_EQ(events[3].kind, EventKind::kFreezes);
  EXPECT_EQ(events[3].seconds, 2.5);
  EXPECT_EQ(good(kMemberEvents, {}, Mode::kTrain).cluster.events.size(), 4U);
  EXPECT_EQ(error_of(kMemberEvents, {}, Mode::kProgram),
            "job.toml:6: cluster.event[0].kind = \"dies\" is not for programs: motley has not "
            "started their workers; remove the event");
}

TEST(Events, OfRealMembersNeedARunThatLetsThemComeAndGo) {
  const std::string text = "[[cluster.event]]\nat = 1\nworker = 1\nkind = ";
  const std::vector<std::string> rigid = {"cluster.elastic=false"};
  for (const std::string kind : {"leaves", "joins"}) {
    const std::string event = text + "'" + kind + "'";
    EXPECT_EQ(error_of(event, rigid, Mode::kTrain),
              "job.toml:4: cluster.event[0].kind = \"" + kind +
                  "\" needs cluster.elastic = true: otherwise no worker can leave or join");
    EXPECT_EQ(good(event, rigid).cluster.events.size(), 1U);
  }
  EXPECT_EQ(good(text + "'dies'", rigid, Mode::kTrain).cluster.events.size(), 1U);
  EXPECT_EQ(
      error_of(text + "'joins'", {"cluster.unit=1", "cluster.isolate=cgroup", "cluster.workers=1"},
               Mode::kTrain),
      "job.toml:3: cluster.event[0].worker is 1, but cluster.isolate = \"cgroup\" limits "
      "only workers below cluster.workers, 1");
}

TEST(Elastic, KeysAreRead) {
  const ClusterSpec defaults = good("").cluster;
  EXPECT_TRUE(defaults.elastic);
  EXPECT_EQ(defaults.min_workers, 1);
  EXPECT_EQ(defaults.respawn, 3);
  EXPECT_EQ(defaults.rejoin_timeout, 60);
  EXPECT_FALSE(defaults.churn);
  const ClusterSpec given = good(R"([cluster]
elastic = false
min_workers = 2
respawn = 0
rejoin_timeout = 1.5
[cluster.churn]
mtbf = 960
mttr = 90
)")
                                .cluster;
  EXPECT_FALSE(given.elastic);
  EXPECT_EQ(given.min_workers, 2);
  EXPECT_EQ(given.respawn, 0);
  EXPECT_EQ(given.rejoin_timeout, 1.5);
  EXPECT_EQ(given.churn->mtbf, 960);
  EXPECT_EQ(given.churn->mttr, 90);
  EXPECT_EQ(given.churn->seed, 1U);
  EXPECT_EQ(good("", {"cluster.churn={mtbf=1,mttr=2,seed=3}"}).cluster.churn->seed, 3U);
}

TEST(Elastic, WrongValuesAreRefused) {
  const std::pair<const char*, const char*> cases[] = {
      {"elastic = 1", "cluster.elastic is an integer, but should be a boolean"},
      {"min_workers = 5",
       "cluster.min_workers is 5, but cluster.workers is 4: the run would begin with too few "
       "workers"},
      {"min_workers = 0", "cluster.min_workers is 0, but must be from 1 to 65536"},
      {"respawn = -1", "cluster.respawn is -1, but must be from 0 to 1000000"},
      {"respwan = 1", "unknown key \"cluster.respwan\"; did you mean \"cluster.respawn\"?"},
      {"churn.mtbf = 5", "cluster.churn.mttr is missing; [cluster.churn] needs both mtbf and mttr"},
      {"churn.seed = 5", "cluster.churn.mtbf is missing; [cluster.churn] needs both mtbf and mttr"},
      {"churn.mtbf = 0", "cluster.churn.mtbf is 0, but must be above 0 and at most 1000000000000"},
      {"churn.mtfb = 1",
       "unknown key \"cluster.churn.mtfb\"; did you mean \"cluster.churn.mtbf\"?"},
      {"churn = 1", "cluster.churn is an integer, but should be a table"},
  };
  for (const auto& [text, message] : cases) {
    EXPECT_EQ(error_of(std::string("[cluster]\n") + text), std::string("job.toml:2: ") + message);
  }
}

TEST(Elastic, ChurnIsNotForPrograms) {
  constexpr std::string_view kText = "cluster.unit = 1\n[cluster.churn]\nmtbf = 9\nmttr = 1";
  good(kText, {}, Mode::kSimulate);
  good(kText, {}, Mode::kTrain);
  EXPECT_EQ(error_of(kText, {}, Mode::kProgram),
            "job.toml:3: cluster.churn is not for programs: motley has not started their workers; "
            "remove it");
}

TEST(Events, OfLinksAreForSimulation) {
  constexpr std::string_view kText =
      "cluster.unit = 1\n[[cluster.event]]\nat = 1\nworker = 0\nkind = 'bandwidth'\nbandwidth = 5";
  good(kText, {}, Mode::kSimulate);
  EXPECT_EQ(
      error_of(kText, {}, Mode::kTrain),
      "job.toml:5: cluster.event[0].kind = \"bandwidth\" can only be simulated: a real run has "
      "the links that its machines have; remove the event");
}

}  // namespace
}  // namespace motley
