// A simulated run that goes on from one of its checkpoints ends with the same bytes as the run that
// wrote it: for every method, allocation and codec, at random checkpoints.
#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "motley/sync/local_sgd.h"
#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/counting_task.h"
#include "tests/resumable_run.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

// Everything in an outcome, as the summary shows it.
nlohmann::json shown(const RunOutcome& outcome) {
  Summary summary;
  summary.seconds = outcome.seconds;
  summary.samples = outcome.samples;
  summary.workers = outcome.workers;
  summary.servers = outcome.servers;
  summary.shares = outcome.allocation;
  summary.max_iteration_gap = outcome.service.max_iteration_gap;
  summary.method = outcome.service.figures;
  summary.simulated_events = outcome.simulated_events;
  return to_json(summary);
}

bool same(const Metric& a, const Metric& b) {
  return std::tie(a.seconds, a.samples, a.step, a.loss, a.accuracy, a.train_loss) ==
         std::tie(b.seconds, b.samples, b.step, b.loss, b.accuracy, b.train_loss);
}

// The metrics of `part` must be the last ones of `whole`.
bool ends_with(const std::vector<Metric>& whole, const std::vector<Metric>& part) {
  return part.size() <= whole.size() &&
         std::equal(part.rbegin(), part.rend(), whole.rbegin(), same);
}

// All later checkpoints must be equal, too.
void expect_same_end(const Traces& whole, std::size_t chosen, const Traces& resumed) {
  ASSERT_EQ(resumed.checkpoints.size(), whole.checkpoints.size() - chosen - 1);
  for (std::size_t i = 0; i < resumed.checkpoints.size(); ++i) {
    const SeenCheckpoint& then = whole.checkpoints[chosen + 1 + i];
    ASSERT_EQ(resumed.checkpoints[i].samples, then.samples);
    ASSERT_EQ(resumed.checkpoints[i].state.values, then.state.values);
    ASSERT_TRUE(resumed.checkpoints[i].state == then.state);
  }
  EXPECT_EQ(resumed.outcome.model.parameters, whole.outcome.model.parameters);
  EXPECT_EQ(shown(resumed.outcome), shown(whole.outcome));
  EXPECT_TRUE(ends_with(whole.metrics, resumed.metrics));
}

class Resume : public testing::TestWithParam<const Method*> {};

TEST_P(Resume, EndsAsTheRunThatWentOn) {
  const char* const more = std::getenv("MOTLEY_RESUME_SEEDS");
  const std::uint64_t seeds = more ? std::stoull(more) : 30;
  for (std::uint64_t seed = 1; seed <= seeds && !HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    JobMaker maker(seed);
    const Job job = *maker.make(*GetParam());
    const Traces whole = run(job);
    ASSERT_FALSE(whole.checkpoints.empty());
    if (whole.checkpoints.size() > 1) {  // the last one is the end of the run
      const std::size_t chosen = maker.below(whole.checkpoints.size() - 1);
      expect_same_end(whole, chosen, run(job, &whole.checkpoints[chosen].state));
    }
  }
}

// Counts how often each sample is computed, also by the terms before a checkpoint.
TEST_P(Resume, UsesEverySampleOnceAnEpoch) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Job job = *JobMaker(seed).make(*GetParam());
    job.model.kind = ModelKind::kSvm;
    job.train.steps.reset();
    job.train.epochs = 2;
    CountingTask task(200 + static_cast<std::int64_t>(seed));
    Traces traces;
    CheckpointMonitor monitor(traces);
    simulate(job, task, monitor);
    EXPECT_GT(traces.checkpoints.size(), 1U);
    EXPECT_EQ(task.counts, std::vector<std::int64_t>(task.counts.size(), 2));
  }
}

// Momenta and residuals survive: a checkpoint changes nothing in what is learnt.
TEST_P(Resume, StepsTakenTogetherLearnTheSameWithoutCheckpoints) {
  if (GetParam()->advance != Advance::kTogether) {
    return;
  }
  for (const CodecKind codec : {CodecKind::kNone, CodecKind::kFp16, CodecKind::kTopk}) {
    Job job = simulated_job(std::string(GetParam()->name()), {1, 0.5, 0.7}, 30, 64);
    job.strategy.codec = codec;
    job.strategy.topk.ratio = 0.3;
    job.strategy.ps.servers = 2;
    job.strategy.of<LocalSgdOptions>().outer_momentum = 0.5;
    const Traces without = run(job);
    job.train.checkpoint_every = job.strategy.of<LocalSgdOptions>().steps;
    const Traces with = run(job);
    EXPECT_GT(with.checkpoints.size(), 5U);
    EXPECT_EQ(with.outcome.model.parameters, without.outcome.model.parameters);
    EXPECT_EQ(with.outcome.samples, without.outcome.samples);
  }
}

// Counters of all terms add up.
TEST_P(Resume, TotalsAreOfTheWholeRun) {
  Job job = simulated_job(std::string(GetParam()->name()), {1, 0.5, 0.7, 0.2}, 32, 60);
  job.train.checkpoint_every = 7;
  const RunOutcome outcome = run(job).outcome;
  EXPECT_GE(outcome.samples, 60 * 32);
  std::int64_t samples = 0;
  for (const WorkerSummary& worker : outcome.workers) {
    samples += worker.samples;
    EXPECT_NEAR(worker.compute_seconds + worker.wait_seconds + worker.communicate_seconds,
                outcome.seconds, 1e-9);
    EXPECT_GE(worker.wait_seconds, -1e-9);
  }
  EXPECT_EQ(samples, outcome.samples);
}

// A checkpoint at the end counts nothing twice.
TEST_P(Resume, BytesAreCountedOnce) {
  Job job = simulated_job(std::string(GetParam()->name()), {1, 0.5, 0.7, 0.2}, 32, 20);
  const auto bytes_of = [&](std::int64_t checkpoint_every) {
    job.train.checkpoint_every = checkpoint_every;
    std::int64_t bytes = 0;
    for (const WorkerSummary& worker : run(job).outcome.workers) {
      bytes += worker.bytes_sent;
    }
    return bytes;
  };
  EXPECT_EQ(bytes_of(1000), bytes_of(0));
}

TEST_P(Resume, AStateOfAnotherRunIsRefused) {
  Job job = simulated_job(std::string(GetParam()->name()), {1, 1, 1, 1}, 32, 20);
  job.train.checkpoint_every = 5;
  const Traces whole = run(job);
  EXPECT_THROW(run(job, &whole.checkpoints.back().state), StateError) << "it is complete";
  State damaged = whole.checkpoints.front().state;
  damaged.values["run"].erase("samples");
  EXPECT_THROW(run(job, &damaged), StateError);
}

std::string name_of_test(const testing::TestParamInfo<const Method*>& info) {
  return std::string(info.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, Resume, testing::ValuesIn(methods().begin(), methods().end()),
                         name_of_test);

}  // namespace
}  // namespace motley
