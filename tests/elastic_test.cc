// Simulated runs with faults (tests/elastic_run.h): no run hangs, every sample is used, and methods
// with common steps learn the same as without faults. A seed that fails is printed.
#include <gtest/gtest.h>

#include <numeric>

#include "base/random.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/elastic_run.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

class ElasticRun : public testing::TestWithParam<const Method*> {};

TEST_P(ElasticRun, GoesOnAndUsesEverySample) {
  std::int64_t losses = 0;
  const SeedRange seeds = elastic_seeds(60);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic = any_elastic(maker, *GetParam());
    AppliedTask task(kElasticDataset);
    QuietMonitor monitor;
    RunOutcome outcome;
    try {
      outcome = simulate(elastic.job, task, monitor);
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
    const std::int64_t limit = ledger_options(elastic.job, kElasticDataset).limit;
    EXPECT_EQ(outcome.samples, limit);
    EXPECT_TRUE(is_finite(outcome.model.parameters));
    if (GetParam()->advance == Advance::kAtOwnPace) {
      expect_coverage(task, outcome);
    }
    losses += count_losses(outcome, ProcessKind::kWorker);
  }
  seeds.expect_many(losses, 10);
}

// From any checkpoint of a run with faults, another one ends in the same way.
TEST_P(ElasticRun, EndsTheSameFromAnyCheckpoint) {
  const SeedRange seeds = elastic_seeds(20);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    Elastic elastic = any_elastic(maker, *GetParam());
    elastic.job.train.checkpoint_every = static_cast<std::int64_t>(1 + maker.below(12));
    Traces whole = run(elastic.job);
    // One is of the end of the run, or several, if members were lost while models were averaged.
    const std::int64_t limit = ledger_options(elastic.job, kElasticDataset).limit;
    std::erase_if(whole.checkpoints, [&](const auto& each) { return each.samples >= limit; });
    if (!whole.checkpoints.empty()) {
      const std::size_t chosen = maker.below(whole.checkpoints.size());
      const Traces resumed = run(elastic.job, &whole.checkpoints[chosen].state);
      EXPECT_EQ(resumed.outcome.model.parameters, whole.outcome.model.parameters);
      EXPECT_EQ(resumed.outcome.seconds, whole.outcome.seconds);
      EXPECT_EQ(resumed.outcome.members.size(), whole.outcome.members.size());
    }
  }
}

// Steps taken together are the same steps, whoever takes them: without a codec, only rounding
// differs.
class ElasticSteps : public testing::TestWithParam<const Method*> {};

TEST_P(ElasticSteps, AreTheSame) {
  const SeedRange seeds = elastic_seeds(60);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic = any_elastic(maker, *GetParam(), {"strategy.codec=none"});
    AppliedTask task(kElasticDataset);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(elastic.job, task, monitor);
    EXPECT_LT(relative_difference(outcome.model.parameters, elastic.calm_model), 1e-6);
  }
}

std::vector<const Method*> with_common_steps() {
  std::vector<const Method*> all(methods().begin(), methods().end());
  std::erase_if(all, [](const Method* method) {
    return method->advance != Advance::kTogether ||
           method->schema.exchanges != ExchangeKind::kGradients;
  });
  return all;
}

std::string name_of_test(const testing::TestParamInfo<const Method*>& test) {
  return std::string(test.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, ElasticRun, testing::ValuesIn(methods().begin(), methods().end()),
                         name_of_test);
INSTANTIATE_TEST_SUITE_P(Methods, ElasticSteps, testing::ValuesIn(with_common_steps()),
                         name_of_test);

// Seconds per step, for the steps between two times.
class RateMonitor final : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override { seen.push_back(progress); }
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }
  // The mean of `count` steps of `batch` samples, from `skipped` steps after that moment on.
  double seconds_per_step(Seconds moment, std::int64_t batch, std::int64_t skipped,
                          std::int64_t count) const {
    const auto from = [&](std::int64_t samples) {
      return *std::ranges::find_if(seen, [&](const auto& each) { return each.samples >= samples; });
    };
    const auto after =
        std::ranges::find_if(seen, [&](const auto& each) { return each.seconds >= moment; });
    const RunProgress first = from(after->samples + skipped * batch);
    const RunProgress last = from(first.samples + count * batch);
    return (last.seconds - first.seconds) /
           (static_cast<double>(last.samples - first.samples) / static_cast<double>(batch));
  }
  std::vector<RunProgress> seen;
};

// Chao's claim, live: whatever a worker can do shortens the steps, and that within two windows.
// Batches of 640; 1 ms a sample.
TEST(Elastic, AWorkerThatJoinsShortensStepsAndOneThatIsLostCostsItsShare) {
  Job job = simulated_job("all_reduce", {1, 1, 1, 0.5, 0.25}, 640, 700);
  job.cluster.respawn = 0;
  job.strategy.allocation = "adaptive";
  job.cluster.events = {{.at = 0, .kind = EventKind::kLeaves, .worker = 4},
                        {.at = 30, .kind = EventKind::kJoins, .worker = 4},  // the slowest
                        {.at = 60, .kind = EventKind::kDies, .worker = 0},
                        {.at = 90, .kind = EventKind::kJoins, .worker = 0}};
  RateMonitor monitor;
  PhantomTask task(6400, 1000);
  const RunOutcome outcome = simulate(job, task, monitor);
  const std::int64_t windows = 2 * job.strategy.adaptive.window;
  const auto expect_speed_after = [&](Seconds event, double speed) {
    EXPECT_NEAR(monitor.seconds_per_step(event, 640, windows, windows), 0.64 / speed,
                0.03 * 0.64 / speed)
        << "after " << event << " s";
  };
  expect_speed_after(1, 3.5);
  expect_speed_after(30, 3.75);
  expect_speed_after(60, 2.75);
  expect_speed_after(90, 3.75);
  EXPECT_EQ(outcome.members.size(), 7U);
  EXPECT_EQ(outcome.members[0].why, "was lost");
  EXPECT_EQ(outcome.losses.samples_redealt, 640);
  EXPECT_EQ(outcome.losses.updates_lost, 0);
}

// Whoever is lost, and whenever: within two windows the others compute as much as they can.
TEST(Elastic, WithinTwoWindowsAfterALossTheSurvivorsAreUsed) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Random random(seed);
    std::vector<double> speeds;
    for (std::uint64_t workers = 3 + random.below(14); speeds.size() < workers;) {
      speeds.push_back(0.25 + 1.75 * random.uniform());
    }
    const auto batch = static_cast<std::int64_t>(256 * speeds.size());
    Job job = simulated_job("all_reduce", speeds, batch, 100);
    job.seed = seed;
    job.cluster.respawn = 0;
    job.strategy.allocation = "adaptive";
    const auto lost = static_cast<int>(random.below(speeds.size()));
    const double all = std::accumulate(speeds.begin(), speeds.end(), 0.0);
    const Seconds step = 1e-3 * static_cast<double>(batch) / all;
    const Seconds at = step * (5 + 40 * random.uniform());
    job.cluster.events = {{.at = at, .kind = EventKind::kDies, .worker = lost}};
    RateMonitor monitor;
    PhantomTask task(60'000, 1000);
    simulate(job, task, monitor);
    const double rate = static_cast<double>(batch) / monitor.seconds_per_step(at, batch, 20, 20);
    EXPECT_GE(rate, 0.97 * (all - speeds[static_cast<std::size_t>(lost)]) / 1e-3)
        << "seed " << seed;
  }
}

std::string failure_of(const Job& job) {
  PhantomTask task(6400, 1000);
  QuietMonitor monitor;
  try {
    simulate(job, task, monitor);
  } catch (const RunFailed& failed) {
    return failed.what();
  }
  return "";
}

TEST(Elastic, RunsThatCannotGoOnSayWhy) {
  Job job = simulated_job("all_reduce", {1, 1, 1}, 60, 100);
  job.cluster.respawn = 0;
  job.cluster.events = {{.at = 0.5, .kind = EventKind::kDies, .worker = 1}};
  EXPECT_EQ(failure_of(job), "");
  job.cluster.elastic = false;
  EXPECT_EQ(failure_of(job), "worker 1 was lost (cluster.elastic = false)");
  job.cluster.elastic = true;
  job.cluster.min_workers = 3;
  job.cluster.rejoin_timeout = 7;
  EXPECT_EQ(failure_of(job),
            "2 of at least 3 workers are left, and nobody has joined for 7 s "
            "(cluster.rejoin_timeout)");
  job.cluster.events.push_back({.at = 7, .kind = EventKind::kJoins, .worker = 1});
  EXPECT_EQ(failure_of(job), "");
  job.cluster.events = {{.at = 0.5, .kind = EventKind::kDies, .worker = 0},
                        {.at = 0.5, .kind = EventKind::kDies, .worker = 1},
                        {.at = 0.5, .kind = EventKind::kDies, .worker = 2}};
  EXPECT_EQ(failure_of(job), "worker 2 was lost, and nobody is left");
}

// What a run saves when it has too few workers, another one goes on from.
TEST(Elastic, ARunWithTooFewWorkersGoesOnLater) {
  for (const Method* method : methods()) {
    SCOPED_TRACE(method->name());
    JobMaker maker(5);
    Job job = *maker.make(*method, 4);
    job.model.kind = ModelKind::kSvm;
    job.train.checkpoint_every = 1'000'000;
    const Seconds calm = run(job).outcome.seconds;
    job.cluster.respawn = 0;
    job.cluster.min_workers = 4;
    job.cluster.rejoin_timeout = 1;
    job.cluster.events.push_back({.at = calm / 2, .kind = EventKind::kDies, .worker = 2});
    std::ranges::stable_sort(job.cluster.events, {}, &ClusterEvent::at);
    Traces traces;
    CheckpointMonitor monitor(traces);
    EXPECT_THROW(simulate(job, *task_of(job), monitor), RunFailed);
    ASSERT_EQ(traces.checkpoints.size(), 1U);
    EXPECT_LT(traces.checkpoints[0].samples, ledger_options(job, kElasticDataset).limit);
    const Traces later = run(job, &traces.checkpoints[0].state);
    EXPECT_EQ(later.outcome.samples, ledger_options(job, kElasticDataset).limit);
    EXPECT_EQ(later.outcome.workers.size(), 4U);
  }
}

}  // namespace
}  // namespace motley
