#include "sync/ad_psgd/ad_psgd.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "motley/sync/ad_psgd.h"
#include "runtime/simulate/simulate.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "tests/figure.h"
#include "tests/own_pace.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

Job any_job(std::uint64_t seed) {
  Random random(seed, 0xad);
  const int workers = 1 + static_cast<int>(random.below(8));
  std::vector<double> speeds;
  for (int i = 0; i < workers; ++i) {
    speeds.push_back(0.1 + random.uniform());
  }
  Job job = simulated_job("ad_psgd", speeds, std::int64_t{3} * workers,
                          1 + static_cast<std::int64_t>(random.below(40)));
  job.seed = seed;
  job.strategy.of<AdPsgdOptions>().graph =
      random.below(2) == 0 ? GraphKind::kRing : GraphKind::kComplete;
  job.cluster.slowdowns = {{0.2, 6}};
  job.cluster.latency = random.below(2) == 0 ? 50e-6 : 5e-3;
  return job;
}

// In every exchange, one model gains what the other one loses, whichever workers exchange models.
TEST(AdPsgd, ConservesTheSumOfAllModels) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Job job = any_job(seed);
    Models models = still_models(job.cluster.workers, 30, seed);
    const auto sum = sum_of(models);
    run_all(job, 333, models);
    const auto after = sum_of(models);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      ASSERT_NEAR(after[i], sum[i], 1e-4) << seed;
    }
    for (const auto& model : models) {  // the run leaves one model
      ASSERT_LT(
          relative_difference(snapshot_of(*model).parameters, snapshot_of(*models[0]).parameters),
          1e-6);
    }
  }
}

TEST(AdPsgd, UsesEverySampleOnceAnEpoch) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Job job = any_job(seed);
    job.strategy.allocation = seed % 2 == 0 ? "equal" : "adaptive";
    expect_every_sample_once(job, 1 + static_cast<std::int64_t>(seed % 97), seed % 3 == 0);
  }
}

TEST(AdPsgd, EvaluatesAsOftenAsAskedAndEndsAtTheTarget) {
  expect_evaluations_and_an_end_at_the_target(simulated_job("ad_psgd", {1, 1, 1, 0.3}, 100, 1));
}

TEST(AdPsgd, LearnsTheRightAnswerAndWaitsForNobody) {
  Job job = simulated_job("ad_psgd", {1, 1, 1, 0.1}, 100, 600);
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  EXPECT_GT(monitor.metrics.back().accuracy, 0.99);
  // Half of the workers make requests, one per iteration.
  EXPECT_EQ(figure(outcome, "exchanges"),
            static_cast<double>(outcome.workers[0].steps + outcome.workers[2].steps));
  EXPECT_GT(outcome.service.max_iteration_gap, 100);
  const double ideal = 3.1 / job.cluster.unit;
  EXPECT_GT(static_cast<double>(outcome.samples) / outcome.seconds, 0.95 * ideal);
}

// A gradient is applied to the model that averaging has changed in the meantime. Computed by hand
// for two equally fast workers, on unlimited links: they ask for samples in the order of their
// ranks.
TEST(AdPsgd, AppliesGradientsOfTheModelBeforeTheExchange) {
  Job job = simulated_job("ad_psgd", equal_speeds(2), 20, 10);
  job.cluster.bandwidth.clear();
  ToyTask task(200, 10, 3, 0.05);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);

  const auto active = task.make_replica();
  const auto passive = task.make_replica();
  Ledger ledger(ledger_options(job, task.training_samples()));
  const Shares shares = equal_shares(20, 2);
  const auto mean_into_both = [&] {
    for (std::size_t i = 0; i < active->parameters().size; ++i) {
      float& a = active->parameters().data[i];
      float& b = passive->parameters().data[i];
      a = b = (a + b) / 2;
    }
  };
  for (std::int64_t step = 0; step < 10; ++step) {
    active->compute(ledger.samples(share_of(ledger.step_after(step * 20), shares, 0)));
    passive->compute(ledger.samples(share_of(ledger.step_after(step * 20), shares, 1)));
    mean_into_both();
    active->apply(0.1);
    passive->apply(0.1);
  }
  mean_into_both();
  EXPECT_LT(relative_difference(outcome.model.parameters, snapshot_of(*active).parameters), 1e-5);
}

TEST(AdPsgd, EndsWhenAWorkerIsLost) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_an_end_when_a_worker_is_lost(any_job(seed), seed);
  }
}

}  // namespace
}  // namespace motley
