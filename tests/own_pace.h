// What holds for every method whose workers go at their own pace.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"
#include "tests/counting_task.h"
#include "tests/quiet_monitor.h"
#include "tests/still_models.h"
#include "tests/toy_task.h"

namespace motley {

// No sample is used twice or skipped in an epoch, also if the run is stopped half-way.
inline void expect_every_sample_once(const Job& job, std::int64_t dataset, bool stopped) {
  CountingTask task(dataset);
  QuietMonitor monitor;
  const std::int64_t all = job.train.batch * *job.train.steps;
  monitor.stop_after_samples = stopped ? all / 2 : monitor.stop_after_samples;
  const RunOutcome outcome = simulate(job, task, monitor);
  const auto [least, most] = std::ranges::minmax(task.counts);
  EXPECT_LE(most - least, 1);
  EXPECT_EQ(std::accumulate(task.counts.begin(), task.counts.end(), std::int64_t{0}),
            outcome.samples);
  EXPECT_TRUE(outcome.stopped || outcome.samples == all);
}

// Evaluations happen when they are due, at most one iteration of the slowest worker late; the run
// ends soon after its target.
inline void expect_evaluations_and_an_end_at_the_target(Job job) {
  job.train.batch = 100;
  job.train.steps = 10'000;
  job.train.eval_every = 5;
  job.train.target_accuracy = 0.95;
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  EXPECT_EQ(outcome.stopped, "target");
  EXPECT_LT(outcome.samples, 100'000);
  ASSERT_GT(monitor.metrics.size(), 3U);
  for (std::size_t i = 0; i + 1 < monitor.metrics.size(); ++i) {
    const std::int64_t due = 500 * static_cast<std::int64_t>(i + 1);
    EXPECT_GE(monitor.metrics[i].samples, due);
    EXPECT_LT(monitor.metrics[i].samples, due + 350);
  }
}

// A worker is lost at a random time: while it computes, waits or averages.
inline void expect_an_end_when_a_worker_is_lost(Job job, std::uint64_t seed) {
  Random random(seed, 0x1057);
  job.train.steps = 1'000;
  Models models = still_models(job.cluster.workers, 30, seed);
  SimCluster cluster(job.cluster, servers_of(job));
  start_all(cluster, job, 5'000, models);
  const auto workers = static_cast<std::uint64_t>(job.cluster.workers);
  cluster.fail(static_cast<Rank>(random.below(workers)), 0.1 * random.uniform(),
               "its plug was pulled");
  try {
    cluster.run();
    FAIL() << "the run should have failed";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(std::string(interrupted.what()), "its plug was pulled");
  }
}

}  // namespace motley
