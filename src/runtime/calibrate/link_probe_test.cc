// The link probe on links that are known because they are simulated.
#include "runtime/calibrate/link_probe.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "job/print.h"
#include "runtime/calibrate/link_director.h"
#include "runtime/calibrate/measured_links.h"
#include "sync/registry.h"
#include "tests/job_text.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

MeasuredLinks measure(const Job& job) {
  register_link_probes();
  const Job probe = link_probe_for(job);
  PhantomTask task(probe.data.samples, probe.model.parameters);
  QuietMonitor monitor;
  const auto links = links_of(simulate(probe, task, monitor).service.figures);
  EXPECT_TRUE(links);
  return links.value_or(MeasuredLinks{});
}

void expect_all(const std::vector<double>& found, const std::vector<double>& right) {
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    EXPECT_NEAR(found[i] / right[i], 1, 0.02) << "of " << i;
  }
}

double between(Random& random, double low, double high) {
  return low * std::pow(high / low, random.uniform());
}

TEST(LinkProbe, FindsEqualLinks) {
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    Random random(seed);
    const int workers = 2 + static_cast<int>(random.below(7));
    Job job = simulated_job("all_reduce", equal_speeds(workers), 64, 100);
    const Seconds latency = between(random, 5e-6, 1e-3);
    job.cluster.latency = latency;
    const double bandwidth = between(random, 1e7, 3e9);
    job.cluster.bandwidth.assign(static_cast<std::size_t>(workers), bandwidth);
    SCOPED_TRACE(fmt::format("{} workers, {} B/s", workers, bandwidth));
    const MeasuredLinks links = measure(job);
    expect_all(links.up, job.cluster.bandwidth);
    expect_all(links.down, job.cluster.bandwidth);
    EXPECT_NEAR(links.latency[1][0] / latency, 1, 0.02);
    EXPECT_NEAR(links.together / (workers * bandwidth), 1, 0.02);
  }
}

TEST(LinkProbe, FindsASlowWorker) {
  Job job = simulated_job("ps_bsp", equal_speeds(5), 64, 100);
  job.cluster.bandwidth = {1.25e8, 1.25e8, 1.25e7, 1.25e8, 1.25e8};
  const MeasuredLinks links = measure(job);
  expect_all(links.up, {1.25e8, 1.25e8, 1.25e7, 1.25e8, 1.25e8, 1.25e8});
  expect_all(links.down, links.up);
}

TEST(ArrivalRate, LeavesOutHowATransferEnds) {
  EXPECT_DOUBLE_EQ(arrival_rate({{2, 3, 4, 5, 6, 20}, {1, 1, 1, 1, 1, 1}, {}}, 1), 1);
}

// What was lost came late, and then all at once.
TEST(ArrivalRate, IsNotMisledByWhatArrivesTogether) {
  EXPECT_DOUBLE_EQ(arrival_rate({{1, 4, 4, 4, 5, 6}, {1, 1, 1, 1, 1, 1}, {}}, 0), 1);
}

TEST(ArrivalRate, OfOnePieceIsTheWhole) { EXPECT_DOUBLE_EQ(arrival_rate({{2}, {6}, {}}, 0), 3); }

TEST(LinkProbe, FindsAFastServerAndHowLinksDifferBothWays) {
  Job job = simulated_job("ps_bsp", equal_speeds(6), 64, 100);
  job.cluster.bandwidth_up = {1e7, 1e8, 1e8, 1e8, 1e8, 1e8};
  job.cluster.bandwidth_down = {1e8, 1e8, 3e7, 1e8, 1e8, 1e8};
  job.cluster.server_bandwidth = 4e8;
  job.cluster.memory_bandwidth = 3e9;
  const MeasuredLinks links = measure(job);
  expect_all(links.up, {1e7, 1e8, 1e8, 1e8, 1e8, 1e8, 4e8});
  expect_all(links.down, {1e8, 1e8, 3e7, 1e8, 1e8, 1e8, 4e8});
  EXPECT_NEAR(links.memory_bandwidth / 3e9, 1, 0.02);
}

TEST(LinkProbe, FindsMachinesAndWhatTheyShare) {
  Job job = simulated_job("all_reduce", equal_speeds(8), 64, 100);
  job.cluster.hosts = {0, 0, 1, 1, 2, 2, 3, 3};
  job.cluster.bandwidth.assign(8, 1e8);
  job.cluster.memory_latency = 2e-5;
  job.cluster.backbone = 2e8;
  const MeasuredLinks links = measure(job);
  EXPECT_EQ(links.machines, job.cluster.hosts);
  expect_all(links.up, {1e8, 1e8, 1e8, 1e8});
  expect_all(links.down, {1e8, 1e8, 1e8, 1e8});
  EXPECT_NEAR(links.together / 2e8, 1, 0.02);
  EXPECT_NEAR(links.within->latency / 2e-5, 1, 0.02);
}

TEST(LinkProbe, FindsAFarWorker) {
  Job job = simulated_job("all_reduce", equal_speeds(4), 64, 100);
  job.cluster.latency = Latency::per_worker({5e-5, 5e-5, 5e-5, 1e-2});
  job.cluster.bandwidth.assign(4, 1e8);
  const MeasuredLinks links = measure(job);
  EXPECT_NEAR(links.latency[0][1] / 5e-5, 1, 0.02);
  EXPECT_NEAR(links.latency[3][1] / 1e-2, 1, 0.02);
}

TEST(LinkProbe, FindsHowUnevenlyConnectionsShareALink) {
  for (const double unevenness : {0.0, 0.1, 0.3}) {
    Job job = simulated_job("all_reduce", equal_speeds(8), 64, 100);
    job.cluster.bandwidth.assign(8, 1e8);
    job.cluster.unevenness = unevenness;
    const MeasuredLinks links = measure(job);
    EXPECT_NEAR(*links.unevenness, unevenness, 0.02 + 0.15 * unevenness);
    expect_all(links.down, job.cluster.bandwidth);
  }
}

// The probe is passed to worker processes as text.
TEST(LinkProbe, IsAJobThatAFileCanHold) {
  register_link_probes();
  for (const char* sync : {"all_reduce", "ps_ssp", "ashl"}) {
    const Job job = good("cluster = {workers = 3, speeds = [1, 0.5, 0.25]}",
                         {fmt::format("strategy.sync={}", sync)});
    const Job probe = link_probe_for(job);
    const auto read =
        parse_job(job_schema(), to_toml(job_schema(), probe), "job.toml", {}, Mode::kConfig);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_toml(job_schema(), *read), to_toml(job_schema(), probe));
  }
}

}  // namespace
}  // namespace motley
