// Simulated runs that lose parameter servers, at random times, alone and together with workers:
// what any worker has pulled is not lost, and steps taken together are the same steps.
#include <gtest/gtest.h>

#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/adding_task.h"
#include "tests/elastic_run.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"

namespace motley {
namespace {

std::vector<const Method*> with_servers() {
  std::vector<const Method*> all(methods().begin(), methods().end());
  std::erase_if(all, [](const Method* method) { return !method->schema.has_servers; });
  return all;
}
// Whose commits always weigh the same, in all.
std::vector<const Method*> with_fixed_weights() {
  std::vector<const Method*> all = with_servers();
  std::erase_if(all, [](const Method* method) {
    return method->advance == Advance::kTogether || method->schema.own_shares;
  });
  return all;
}

class LostServers : public testing::TestWithParam<const Method*> {};

TEST_P(LostServers, TheRunGoesOnAndUsesEverySample) {
  const SeedRange seeds = elastic_seeds(60);
  std::int64_t losses = 0;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic = any_elastic(maker, *GetParam(), {}, {.most = 12, .of_servers = 70});
    AppliedTask task(kElasticDataset);
    QuietMonitor monitor;
    RunOutcome outcome;
    try {
      outcome = simulate(elastic.job, task, monitor);
    } catch (const std::exception& error) {
      FAIL() << error.what();
    }
    EXPECT_EQ(outcome.samples, ledger_options(elastic.job, kElasticDataset).limit);
    EXPECT_TRUE(is_finite(outcome.model.parameters));
    if (GetParam()->advance == Advance::kAtOwnPace) {
      expect_coverage(task, outcome);
    } else {
      EXPECT_EQ(outcome.losses.samples_repeated, 0);
    }
    losses += count_losses(outcome, ProcessKind::kServer);
  }
  seeds.expect_many(losses, 10);
}

// How many samples are in the model, by number.
std::vector<double> samples_in(const RunOutcome& outcome, const Job& job) {
  std::vector<double> samples;
  for (const float number : outcome.model.parameters) {
    samples.push_back(number * static_cast<double>(std::min(job.train.batch, kElasticDataset)));
  }
  return samples;
}

class LostValues : public testing::TestWithParam<const Method*> {};

// A worker has pulled whatever a server has answered, so nothing is lost with servers alone; what
// may be in the model twice is said.
TEST_P(LostValues, AreRebuiltFromTheNewestCopies) {
  const SeedRange seeds = elastic_seeds(100);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic = any_elastic(maker, *GetParam(), {"strategy.codec=none"},
                                        {.most = 12, .only_servers = true});
    AddingTask task(kElasticDataset);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(elastic.job, task, monitor);
    EXPECT_EQ(outcome.losses.updates_lost, 0);
    for (const double samples : samples_in(outcome, elastic.job)) {
      EXPECT_GE(samples, static_cast<double>(outcome.samples) - 0.01);
      EXPECT_LE(samples,
                static_cast<double>(outcome.samples + outcome.losses.samples_repeated) + 0.01);
    }
  }
}

// With workers, also what nobody else had pulled is lost, and said. What a lost worker had pushed
// may be dealt again.
TEST_P(LostValues, WithWorkersAtMostWhatIsSaidIsMissing) {
  const SeedRange seeds = elastic_seeds(100);
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic =
        any_elastic(maker, *GetParam(), {"strategy.codec=none"}, {.most = 12, .of_servers = 50});
    AddingTask task(kElasticDataset);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(elastic.job, task, monitor);
    const std::int64_t again = outcome.losses.samples_repeated + outcome.losses.samples_redealt;
    const std::int64_t missing = outcome.losses.updates_lost * elastic.job.train.batch;
    for (const double samples : samples_in(outcome, elastic.job)) {
      EXPECT_GE(samples, static_cast<double>(outcome.samples - missing) - 0.01);
      EXPECT_LE(samples, static_cast<double>(outcome.samples + again) + 0.01);
    }
  }
}

class LostSums : public testing::TestWithParam<const Method*> {};

TEST_P(LostSums, StepsTakenTogetherAreTheSame) {
  const SeedRange seeds = elastic_seeds(100);
  std::int64_t losses = 0;
  for (std::uint64_t seed = seeds.first; seed <= seeds.last && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Elastic elastic =
        any_elastic(maker, *GetParam(), {"strategy.codec=none"}, {.most = 20, .of_servers = 50});
    AppliedTask task(kElasticDataset);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(elastic.job, task, monitor);
    EXPECT_LT(relative_difference(outcome.model.parameters, elastic.calm_model), 1e-6);
    losses += count_losses(outcome, ProcessKind::kServer);
  }
  seeds.expect_many(losses, 50);
}

std::vector<const Method*> with_sums() {
  std::vector<const Method*> all = with_servers();
  std::erase_if(all, [](const Method* each) { return each->advance != Advance::kTogether; });
  return all;
}

std::string name_of_method(const testing::TestParamInfo<const Method*>& test) {
  return std::string(test.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, LostServers, testing::ValuesIn(with_servers()), name_of_method);
INSTANTIATE_TEST_SUITE_P(Methods, LostValues, testing::ValuesIn(with_fixed_weights()),
                         name_of_method);
INSTANTIATE_TEST_SUITE_P(Methods, LostSums, testing::ValuesIn(with_sums()), name_of_method);

}  // namespace
}  // namespace motley
