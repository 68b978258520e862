// A run that goes on with other workers, other servers, another method, allocation or codec: it
// ends, uses every sample exactly once an epoch, and learns what it would have learnt.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

#include "motley/sync/method.h"
#include "runtime/run/fit_state.h"
#include "runtime/run/run_position.h"
#include "sync/registry.h"
#include "tests/counting_task.h"
#include "tests/resumable_run.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

// How often each method is tried: a number, for long runs.
std::uint64_t seeds_or(std::uint64_t few) {
  const char* const more = std::getenv("MOTLEY_RESUME_SEEDS");
  return more ? std::stoull(more) : few;
}

// Also keeps how often each sample was computed before each checkpoint.
class CountingMonitor final : public RunMonitor {
 public:
  explicit CountingMonitor(const CountingTask& task) : task_(task) {}
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric&) override {}
  void on_checkpoint(std::int64_t, State state) override {
    states.push_back(std::move(state));
    counts.push_back(task_.counts);
  }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  std::vector<State> states;
  std::vector<std::vector<std::int64_t>> counts;

 private:
  const CountingTask& task_;
};

// Some stay, in any order; the others are newcomers.
MemberChange any_members(JobMaker& maker, int before, int now) {
  MemberChange members = MemberChange::first_stay(before, now);
  for (std::size_t i = members.previous.size(); i > 1; --i) {
    std::swap(members.previous[i - 1], members.previous[maker.below(i)]);
  }
  for (std::optional<Rank>& was : members.previous) {
    if (maker.below(4) == 0) {
      was.reset();
    }
  }
  return members;
}

std::optional<Job> other_job(JobMaker& maker, const Method& method, const Job& job) {
  const int before = job.cluster.workers;
  const std::vector<int> numbers = {before - 1, before + 2, 1, before};
  auto other = maker.make(method, numbers[maker.below(numbers.size())]);
  if (other) {
    other->seed = job.seed;  // of the order of samples
    other->train = job.train;
    other->train.checkpoint_every = static_cast<std::int64_t>(1 + maker.below(12));
    other->train.batch = maker.below(4) == 0 ? 24 : job.train.batch;
    other->model.kind = job.model.kind;
  }
  return other;
}

std::string in_words(const Job& job) {
  const RunShape shape = shape_of(job);
  return fmt::format("{} {} workers {} servers {} {} batch {}", shape.method, shape.workers,
                     shape.servers, shape.codec, shape.allocation, job.train.batch);
}

class Refitted : public testing::TestWithParam<const Method*> {};

// The state of a run of this method is taken over by a run of any method.
void expect_every_sample_once(std::uint64_t seed, const Method& from, const Method& to) {
  JobMaker maker(seed);
  Job job = *maker.make(from);
  job.model.kind = ModelKind::kSvm;
  job.train.steps.reset();
  job.train.epochs = 2;
  const std::optional<Job> other = other_job(maker, to, job);
  if (!other) {
    return;
  }
  SCOPED_TRACE(fmt::format("seed {}: {} -> {}", seed, in_words(job), in_words(*other)));
  CountingTask task(200 + static_cast<std::int64_t>(seed));
  CountingMonitor before(task);
  simulate(job, task, before);
  const std::size_t chosen = maker.below(before.states.size() - 1);
  task.counts = before.counts[chosen];
  State state = before.states[chosen];
  if (maker.below(2) == 0) {
    state = fitted(state, *other, task.training_samples(),
                   {.members = any_members(maker, job.cluster.workers, other->cluster.workers)});
  }
  CountingMonitor after(task);
  const RunOutcome outcome = simulate(*other, task, after, &state);
  EXPECT_EQ(task.counts, std::vector<std::int64_t>(task.counts.size(), 2));
  EXPECT_EQ(outcome.samples, 2 * task.training_samples());
  std::int64_t samples = 0;
  for (const auto* workers : {&outcome.workers, &outcome.former_workers}) {
    for (const WorkerSummary& worker : *workers) {
      samples += worker.samples;
      EXPECT_GE(worker.wait_seconds, -1e-9);
    }
  }
  EXPECT_EQ(samples, outcome.samples);
}

TEST_P(Refitted, EverySampleIsUsedOnceAnEpoch) {
  for (const Method* to : methods()) {
    for (std::uint64_t seed = 1; seed <= seeds_or(3) && !HasFailure(); ++seed) {
      expect_every_sample_once(seed, *GetParam(), *to);
    }
  }
  for (std::uint64_t seed = 100; seed < 100 + seeds_or(20) && !HasFailure(); ++seed) {
    expect_every_sample_once(seed, *GetParam(), *GetParam());
  }
}

// More epochs than the run had, after its last checkpoint and with another learning rate.
TEST_P(Refitted, ACompleteRunGoesOnWithMoreEpochs) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    JobMaker maker(seed);
    Job job = *maker.make(*GetParam());
    job.model.kind = ModelKind::kSvm;
    job.train.steps.reset();
    job.train.epochs = 1;
    CountingTask task(300);
    CountingMonitor before(task);
    simulate(job, task, before);
    job.train.epochs = 3;
    job.train.lr *= 0.1;
    CountingMonitor after(task);
    EXPECT_EQ(simulate(job, task, after, &before.states.back()).samples, 900);
    EXPECT_EQ(task.counts, std::vector<std::int64_t>(300, 3));
  }
}

// Real numbers and phantoms.
TEST_P(Refitted, TheModelStaysFinite) {
  for (const Method* to : methods()) {
    for (std::uint64_t seed = 1; seed <= seeds_or(2) && !HasFailure(); ++seed) {
      JobMaker maker(seed);
      const Job job = *maker.make(*GetParam());
      const std::optional<Job> other = other_job(maker, *to, job);
      const Traces whole = run(job);
      if (!other || whole.checkpoints.size() < 2) {
        continue;
      }
      SCOPED_TRACE(fmt::format("seed {}: {} -> {}", seed, in_words(job), in_words(*other)));
      const std::size_t chosen = maker.below(whole.checkpoints.size() - 1);
      if (whole.checkpoints[chosen].samples >= *other->train.steps * other->train.batch) {
        continue;  // with the other batch it is complete
      }
      const Traces resumed = run(*other, &whole.checkpoints[chosen].state);
      EXPECT_GE(resumed.outcome.seconds, 0);
      for (const float value : resumed.outcome.model.parameters) {
        EXPECT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST_P(Refitted, AStateThatFitsStaysAsItIs) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Job job = *JobMaker(seed).make(*GetParam());
    for (const SeenCheckpoint& seen : run(job).checkpoints) {
      const std::int64_t samples = task_of(job)->training_samples();
      EXPECT_TRUE(fits(seen.state, job, samples));
      EXPECT_TRUE(fitted(seen.state, job, samples) == seen.state);
    }
  }
}

// Workers of a method that sums gradients learn the same, however many they are.
TEST_P(Refitted, SumsOfGradientsLearnTheSameWithAnyNumberOfWorkers) {
  const auto sums = [](const Method& method) {
    return method.advance == Advance::kTogether &&
           method.schema.exchanges == ExchangeKind::kGradients;
  };
  if (!sums(*GetParam())) {
    return;
  }
  const std::vector<double> speeds = {1, 0.5, 0.7, 0.9, 0.3, 0.6};
  for (const Method* to : methods()) {
    for (const std::size_t workers : {1, 3, 4, 6}) {
      if (!sums(*to)) {
        continue;
      }
      Job job = simulated_job(std::string(GetParam()->name()), {1, 0.5, 0.7, 0.9}, 32, 40);
      job.strategy.allocation = "adaptive";
      job.strategy.adaptive.window = 3;
      job.train.checkpoint_every = 9;
      const Traces whole = run(job);
      Job other = simulated_job(
          std::string(to->name()),
          {speeds.begin(), speeds.begin() + static_cast<std::ptrdiff_t>(workers)}, 32, 40);
      other.strategy.allocation = "adaptive";
      for (const SeenCheckpoint& seen : whole.checkpoints) {
        if (seen.samples == whole.outcome.samples) {
          continue;
        }
        const Traces resumed = run(other, &seen.state);
        for (std::size_t i = 0; i < whole.outcome.model.parameters.size(); ++i) {
          EXPECT_NEAR(resumed.outcome.model.parameters[i], whole.outcome.model.parameters[i], 1e-6);
        }
      }
    }
  }
}

std::string name_of_method(const testing::TestParamInfo<const Method*>& info) {
  return std::string(info.param->name());
}
INSTANTIATE_TEST_SUITE_P(Methods, Refitted, testing::ValuesIn(methods().begin(), methods().end()),
                         name_of_method);

}  // namespace
}  // namespace motley
