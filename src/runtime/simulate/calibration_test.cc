// Calibration against a fabric whose links are known because it is simulated.
#include "runtime/simulate/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "job/print.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/job_text.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

Result<Calibration> calibrate_on(const Links& links, const Job& job, std::int64_t parameters) {
  return calibrate(job, parameters, [&](const Job& probe) { return simulated(probe, links); });
}

double between(Random& random, double low, double high) {
  return low * std::pow(high / low, random.uniform());
}

// For any method, number of workers and model size.
TEST(Calibration, FindsTheLinksOfAKnownFabric) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Random random(seed);
    const char* syncs[] = {"all_reduce", "partial_reduce", "hop", "ps_bsp", "ashl", "local_sgd"};
    const int workers = 2 + static_cast<int>(random.below(6));
    const Job job = simulated_job(syncs[seed % std::size(syncs)], equal_speeds(workers), 64, 100);
    const Links links{between(random, 5e-6, 1e-3), between(random, 1e7, 3e9)};
    const auto parameters = static_cast<std::int64_t>(between(random, 1e3, 1e7));
    const auto found = calibrate_on(links, job, parameters);
    SCOPED_TRACE(
        fmt::format("{}, {} workers, {} parameters", job.strategy.sync, workers, parameters));
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_NEAR(found->links.latency / links.latency, 1, 0.01);
    EXPECT_NEAR(found->links.bandwidth / links.bandwidth, 1, 0.01);
  }
}

// One-time costs of a run are not link costs, also if progress is reported rarely.
TEST(Calibration, IsNotMisledByTheStartOfARun) {
  const Links links{40e-6, 1e9};
  const Job job = simulated_job("all_reduce", equal_speeds(4), 64, 100);
  const auto found = calibrate(job, 1'000'000, [&](const Job& probe) {
    Course course = simulated(probe, links);
    for (Milestone& moment : course) {
      moment.at += 0.05 + 1e-7 * static_cast<double>(probe.model.parameters);
    }
    Seconds told = 0;
    std::erase_if(course, [&](const Milestone& moment) {
      const bool is_last = moment.samples == course.back().samples;
      const bool is_told = is_last || moment.at > told + 0.1;
      told = is_told ? moment.at : told;
      return !is_told;
    });
    return course;
  });
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->links.latency / links.latency, 1, 0.01);
  EXPECT_NEAR(found->links.bandwidth / links.bandwidth, 1, 0.01);
}

// Other programs may disturb some of the runs.
TEST(Calibration, SomeDisturbedRunsDoNotCount) {
  const Links links{40e-6, 1e9};
  const Job job = simulated_job("all_reduce", equal_speeds(4), 64, 100);
  int runs = 0;
  const auto found = calibrate(job, 1'000'000, [&](const Job& probe) {
    Course course = simulated(probe, links);
    const double slower = runs++ < 4 ? 1.5 : 1;
    for (Milestone& moment : course) {
      moment.at *= slower;
    }
    return course;
  });
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->links.latency / links.latency, 1, 0.01);
  EXPECT_NEAR(found->links.bandwidth / links.bandwidth, 1, 0.01);
}

TEST(Calibration, FailsIfBandwidthCannotBeMeasured) {
  const Job job = simulated_job("all_reduce", equal_speeds(4), 64, 100);
  const auto found = calibrate(job, 1'000'000, [](const Job& probe) {
    const auto steps = static_cast<double>(*probe.train.steps);
    return Course{{steps * 1e-3, *probe.train.steps * probe.train.batch}};
  });
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("took no longer"), std::string::npos);
}

TEST(Calibration, ACourseOfOneMomentCountsWhole) {
  EXPECT_DOUBLE_EQ(step_seconds({{6, 12}}, 4), 2);
  EXPECT_DOUBLE_EQ(step_seconds({{5, 3}, {6, 12}}, 3), 1.0 / 3);
  EXPECT_DOUBLE_EQ(step_seconds({{5, 2}, {6, 12}}, 3), 1.5);
}

// The probe is passed to worker processes as text.
TEST(Calibration, AProbeIsAJobThatAFileCanHold) {
  for (const char* sync : {"all_reduce", "partial_reduce", "hop", "ad_psgd", "ps_ssp", "ashl"}) {
    const Job job = good("cluster = {workers = 3, speeds = [1, 0.5, 0.25]}",
                         {fmt::format("strategy.sync={}", sync)});
    const Job probe = probe_for(job, 1'000);
    const auto read =
        parse_job(job_schema(), to_toml(job_schema(), probe), "job.toml", {}, Mode::kSimulate);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_toml(job_schema(), *read), to_toml(job_schema(), probe));
  }
}

// Real parameters are sent in segments, phantom ones in one piece: both take as long.
TEST(Calibration, AProbeWithoutNumbersTakesAsLongAsOneWithThem) {
  for (const char* sync : {"all_reduce", "partial_reduce", "hop", "ps_asp"}) {
    Job job = probe_for(simulated_job(sync, equal_speeds(4), 64, 100), 200'000);
    job.train.steps = 10;
    job.cluster.latency = 50e-6;
    job.cluster.bandwidth.assign(4, 1e9);
    StillTask with(job.data.samples, job.model.parameters);
    PhantomTask without(job.data.samples, job.model.parameters);
    QuietMonitor monitor;
    EXPECT_NEAR(simulate(job, with, monitor).seconds / simulate(job, without, monitor).seconds, 1,
                0.001)
        << sync;
  }
}

}  // namespace
}  // namespace motley
