// How long a step takes in the simulator when links are all that counts: closed forms, each within
// 1 %. Models of 4 MB, links of 1.25e9 bytes per second, 50 us, next to no computing.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "motley/cluster/graph.h"
#include "motley/sync/hop.h"
#include "motley/sync/partial_reduce.h"
#include "runtime/simulate/simulate.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"

namespace motley::shared_links_test {
namespace {

constexpr double kBytes = 4e6;
constexpr double kBandwidth = 1.25e9;
constexpr Seconds kLatency = 50e-6;
constexpr Seconds kModel = kBytes / kBandwidth;  // a model on a link of its own: 3.2 ms

Job job_of(std::string sync, int workers) {
  Job job = simulated_job(std::move(sync), equal_speeds(workers), workers, 10);
  job.model.kind = ModelKind::kPhantom;
  job.cluster.unit = 1e-9;
  job.cluster.latency = kLatency;
  return job;
}

Job servers_of_number(int servers, int workers = 8) {
  Job job = job_of("ps_bsp", workers);
  job.strategy.ps.servers = servers;
  return job;
}

Job hop_on_a_ring(int workers) {
  Job job = job_of("hop", workers);
  job.strategy.of<HopOptions>().graph = GraphKind::kRing;
  return job;
}

// A step, without the beginning and the end of the run. What the ranks sum has kBytes, so that a
// ring's chunks are equal, as in the closed forms: with many ranks, a little difference is enough
// for some to be ahead of others, and latencies no longer cost time on a shared link.
Seconds step_of(Job job) {
  const auto seconds = [&](std::int64_t steps) {
    job.train.steps = steps;
    PhantomTask task(1'000'000, static_cast<std::int64_t>(kBytes / sizeof(float)) -
                                    static_cast<std::int64_t>(Replica::kTail));
    QuietMonitor monitor;
    return simulate(job, task, monitor).seconds;
  };
  return (seconds(30) - seconds(10)) / 20;
}

void expect_step(const Job& job, Seconds expected, double tolerance = 0.01) {
  EXPECT_NEAR(step_of(job) / expected, 1, tolerance) << step_of(job) << " s, not " << expected;
}

Seconds ring(int workers, double slower = 1) {
  return 2 * (workers - 1) * (kLatency + slower * kModel / workers);
}
Seconds there_and_back(Seconds one_way) { return 2 * (kLatency + one_way); }

TEST(SharedLinks, PushesAndAnswersShareTheServersLink) {
  expect_step(servers_of_number(1), there_and_back(8 * kModel));  // 51.3 ms
  for (const int servers : {2, 4, 8}) {
    expect_step(servers_of_number(servers), there_and_back(8 * kModel / servers));
  }
}

TEST(SharedLinks, AFasterServerIsUsedInFull) {
  for (const int times : {2, 4, 8}) {
    Job job = servers_of_number(1);
    job.cluster.server_bandwidth = times * kBandwidth;
    expect_step(job, there_and_back(8 * kModel / times));
  }
  Job job = servers_of_number(1);
  job.cluster.server_bandwidth = 100 * kBandwidth;
  expect_step(job, there_and_back(kModel));
}

TEST(SharedLinks, ASlowWorkerIsAsSlowWhateverItsRank) {
  for (const std::size_t slow : {0U, 3U, 7U}) {
    Job job = servers_of_number(1);
    job.cluster.bandwidth[slow] = kBandwidth / 10;
    expect_step(job, there_and_back(10 * kModel));  // 64.1 ms
  }
}

TEST(SharedLinks, HopSendsToBothNeighboursAtOnce) {
  for (const int workers : {4, 8, 16}) {
    expect_step(hop_on_a_ring(workers), kLatency + 2 * kModel);  // 6.45 ms
  }
}

TEST(SharedLinks, RingsHaveTheirLinksToThemselves) {
  for (const int workers : {2, 4, 8, 16, 100}) {
    expect_step(job_of("all_reduce", workers), ring(workers));
  }
}

TEST(SharedLinks, UpAndDownMayDiffer) {
  Job job = servers_of_number(1, 4);
  job.cluster.server_bandwidth = 100 * kBandwidth;
  job.cluster.bandwidth_up.assign(4, kBandwidth / 5);
  expect_step(job, kLatency + 5 * kModel + kLatency + kModel);
}

TEST(SharedLinks, WorkersOfAMachineShareItsLink) {
  Job job = servers_of_number(1);
  job.cluster.server_bandwidth = 100 * kBandwidth;
  job.cluster.hosts = {0, 0, 0, 0, 1, 2, 3, 4};
  expect_step(job, there_and_back(4 * kModel));
}

// Neighbours in the ring are on one machine, except at its borders: each link has one flow, as if
// every worker had a machine of its own. Without latency, because chunks that come through the
// memory wait for the link, which hides it.
TEST(SharedLinks, ARingEntersAndLeavesAMachineOnce) {
  for (const int workers : {8, 96}) {
    Job job = job_of("all_reduce", workers);
    for (int i = 0; i < workers; ++i) {
      job.cluster.hosts.push_back(i / 4);
    }
    job.cluster.memory_bandwidth = 100 * kBandwidth;
    job.cluster.latency = 0;
    job.cluster.memory_latency = 0;
    expect_step(job, 2 * (workers - 1) * kModel / workers);
  }
}

TEST(SharedLinks, ABackboneOfAQuarterMakesExchangesFourTimesAsLong) {
  const auto with_backbone = [](Job job) {
    job.cluster.backbone = kBandwidth * static_cast<double>(job.cluster.workers) / 4;
    return job;
  };
  for (const int workers : {8, 100}) {
    expect_step(with_backbone(job_of("all_reduce", workers)), ring(workers, 4));
  }
  expect_step(with_backbone(hop_on_a_ring(8)), kLatency + 8 * kModel);
  expect_step(with_backbone(servers_of_number(8)), there_and_back(4 * kModel));
  Job pairs = job_of("partial_reduce", 2);
  pairs.strategy.of<PartialReduceOptions>().group = 2;
  expect_step(with_backbone(pairs), step_of(pairs) + 6 * kModel / 2, 0.05);
}

TEST(SharedLinks, TheSameJobTakesTheSameTimeToTheBit) {
  Job job = servers_of_number(3, 7);
  job.cluster.bandwidth[2] = kBandwidth / 3;
  EXPECT_EQ(step_of(job), step_of(job));
}

}  // namespace
}  // namespace motley::shared_links_test
