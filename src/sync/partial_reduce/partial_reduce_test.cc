#include "sync/partial_reduce/partial_reduce.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"
#include "motley/sync/collective.h"
#include "motley/sync/partial_reduce.h"
#include "runtime/simulate/simulate.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "sync/partial_reduce/messages.h"
#include "tests/counting_task.h"
#include "tests/figure.h"
#include "tests/own_pace.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"
#include "tests/toy_task.h"

namespace motley::partial_reduce_test {
namespace {

Job job_of(const std::vector<double>& speeds, int group, std::int64_t batch, std::int64_t steps) {
  Job job = simulated_job("partial_reduce", speeds, batch, steps);
  job.strategy.of<PartialReduceOptions>().group = group;
  return job;
}

// The groups of a round: the workers in random order, cut into pieces.
struct Round {
  std::vector<std::vector<Rank>> groups;
  std::vector<std::vector<double>> weights;
};

Round any_round(int workers, Random& random) {
  std::vector<Rank> ranks = all_ranks(workers);
  random.shuffle(std::span(ranks));
  Round round;
  for (const Rank rank : ranks) {
    if (round.groups.empty() || random.below(3) == 0) {
      round.groups.emplace_back();
      round.weights.emplace_back();
    }
    round.groups.back().push_back(rank);
    round.weights.back().push_back(0.01 + random.uniform());
  }
  for (auto& weights : round.weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (double& weight : weights) {
      weight /= sum;
    }
  }
  return round;
}

// Checks the models after a round: each member of a group has the weighted mean, with the same
// bits, and the model of a worker alone in its group has not changed.
void check_round(const Round& round, const std::vector<Snapshot>& before, Models& models) {
  const auto of = [&](Rank rank) { return snapshot_of(*models[static_cast<std::size_t>(rank)]); };
  for (std::size_t g = 0; g < round.groups.size(); ++g) {
    const auto& members = round.groups[g];
    const Snapshot first = of(members.front());
    for (const Rank member : members) {
      RC_ASSERT(of(member).parameters == first.parameters);
      RC_ASSERT(of(member).buffers == first.buffers);
    }
    for (std::size_t i = 0; i < first.parameters.size(); ++i) {
      double mean = 0;
      for (std::size_t m = 0; m < members.size(); ++m) {
        const Snapshot& old = before[static_cast<std::size_t>(members[m])];
        mean += round.weights[g][m] * static_cast<double>(old.parameters[i]);
      }
      RC_ASSERT(std::abs(static_cast<double>(first.parameters[i]) - mean) < 1e-5);
      if (i < first.buffers.size()) {  // which began equal to the first parameters
        RC_ASSERT(std::abs(static_cast<double>(first.buffers[i]) - mean) < 1e-5);
      }
    }
    if (members.size() == 1) {
      RC_ASSERT(first.parameters == before[static_cast<std::size_t>(members[0])].parameters);
    }
  }
}

// Workers with a controller that forms random groups, with small and large models.
RC_GTEST_PROP(PartialReduce, MembersEndWithTheWeightedMeanAndOthersUntouched, ()) {
  const int workers = *rc::gen::inRange(2, 9);
  const auto seed = *rc::gen::arbitrary<std::uint32_t>();
  const int rounds = *rc::gen::inRange(1, 6);
  const Job job = job_of(equal_speeds(workers), 2, workers, 1'000);
  Models models = still_models(workers, *rc::gen::element<std::size_t>(30, 20'000), seed);
  Random random(seed, 99);
  SimCluster cluster(job.cluster);
  start_workers(cluster, job, 1'000, models);
  Round round;
  std::vector<Snapshot> before;
  const auto check = [&] { check_round(round, before, models); };
  cluster.start(kCoordinator, [&](Node& node) {
    for (int left = rounds; left > 0; --left) {
      for (int i = 0; i < workers; ++i) {
        node.receive({kGroupChannel});
      }
      node.busy(0, [&] {
        check();
        round = any_round(workers, random);
        before.clear();
        std::ranges::transform(models, std::back_inserter(before),
                               [](const auto& model) { return snapshot_of(*model); });
      });
      for (std::size_t g = 0; g < round.groups.size(); ++g) {
        for (std::size_t m = 0; m < round.groups[g].size(); ++m) {
          GroupNews news;
          news.members = round.groups[g];
          news.weight = static_cast<float>(round.weights[g][m]);
          news.grant.next.count = left > 1 ? 1 : 0;
          node.send(round.groups[g][m], kGroupChannel, {}, news.payload());
        }
      }
    }
  });
  cluster.run();
  check();
}

// Over all groups of a run, whichever workers are in them.
RC_GTEST_PROP(PartialReduce, ConservesTheSumOfAllModels, ()) {
  const int workers = *rc::gen::inRange(2, 10);
  std::vector<double> speeds;
  for (int i = 0; i < workers; ++i) {
    speeds.push_back(*rc::gen::inRange(1, 5));
  }
  Job job = job_of(speeds, *rc::gen::inRange(2, workers + 1), std::int64_t{10} * workers,
                   *rc::gen::inRange(1, 30));
  job.strategy.of<PartialReduceOptions>().filter = *rc::gen::arbitrary<bool>();
  job.strategy.of<PartialReduceOptions>().policy =
      *rc::gen::element(GroupTiming::kCount, GroupTiming::kWindow);
  job.cluster.slowdowns = {{0.3, 3}};
  Models models = still_models(workers, 50, *rc::gen::arbitrary<std::uint32_t>());
  const auto sum = sum_of(models);
  run_all(job, 333, models);
  const auto after = sum_of(models);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    RC_ASSERT(std::abs(after[i] - sum[i]) < 1e-3);
  }
  for (const auto& model : models) {  // the run leaves one model
    RC_ASSERT(snapshot_of(*model).parameters == snapshot_of(*models[0]).parameters);
  }
}

// A third is not a float. If the weights of a group of three summed to more than 1, thousands of
// groups would show it.
TEST(PartialReduce, ModelsDoNotGrowWithTheNumberOfGroups) {
  const Job job = job_of(equal_speeds(3), 3, 30, 5'000);
  Models models = still_models(3, 50, 1);
  const auto sum = sum_of(models);
  run_all(job, 300, models);
  const auto after = sum_of(models);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    EXPECT_NEAR(after[i], sum[i], 1e-5);
  }
}

// For any allocation, more workers than samples and early stops, the run ends and every sample is
// used exactly once.
RC_GTEST_PROP(PartialReduce, UsesEverySampleOnceAnEpoch, ()) {
  const int workers = *rc::gen::inRange(2, 10);
  std::vector<double> speeds;
  for (int i = 0; i < workers; ++i) {
    speeds.push_back(*rc::gen::element(0.3, 1.0, 2.0));
  }
  const auto batch = *rc::gen::inRange<std::int64_t>(workers, 100);
  const auto dataset = *rc::gen::inRange<std::int64_t>(1, 400);
  Job job = job_of(speeds, *rc::gen::inRange(2, workers + 1), batch,
                   *rc::gen::inRange<std::int64_t>(1, 60));
  job.strategy.allocation =
      *rc::gen::element<std::string>("equal", "static", "adaptive", "dynamic");
  job.strategy.of<PartialReduceOptions>().policy =
      *rc::gen::element(GroupTiming::kCount, GroupTiming::kWindow);
  job.strategy.of<PartialReduceOptions>().weights =
      *rc::gen::element(GroupWeights::kConstant, GroupWeights::kDynamic);
  job.cluster.slowdowns = {{0.2, 4}};
  CountingTask task(dataset);
  QuietMonitor monitor;
  const bool stops = *rc::gen::arbitrary<bool>();
  monitor.stop_after_samples = stops ? batch * *job.train.steps / 2 : monitor.stop_after_samples;
  const RunOutcome outcome = simulate(job, task, monitor);
  const auto [least, most] = std::ranges::minmax(task.counts);
  RC_ASSERT(most - least <= 1);
  RC_ASSERT(std::accumulate(task.counts.begin(), task.counts.end(), std::int64_t{0}) ==
            outcome.samples);
  RC_ASSERT(outcome.stopped || outcome.samples == batch * *job.train.steps);
  std::int64_t computed = 0;
  for (const WorkerSummary& worker : outcome.workers) {
    computed += worker.samples;
  }
  RC_ASSERT(computed == outcome.samples);
}

// With all workers in the group it equals all_reduce, for any optimizer whose step is linear and
// any shares: every sample has the same weight.
RC_GTEST_PROP(PartialReduce, OfAllWorkersIsAllReduce, ()) {
  const int workers = *rc::gen::inRange(2, 8);
  const auto batch = *rc::gen::inRange<std::int64_t>(workers, 60);
  std::vector<double> speeds;
  std::vector<double> shares;
  for (int i = 0; i < workers; ++i) {
    speeds.push_back(*rc::gen::element(0.3, 1.0, 2.0));
    shares.push_back(*rc::gen::inRange(1, 5));
  }
  Job job = job_of(speeds, workers, batch, *rc::gen::inRange<std::int64_t>(1, 40));
  job.strategy.allocation = *rc::gen::element<std::string>("equal", "static");
  job.strategy.shares = shares;
  job.strategy.of<PartialReduceOptions>().weights =
      *rc::gen::element(GroupWeights::kConstant, GroupWeights::kDynamic);
  ToyTask task(5 * batch, 20, 5, 0.05);
  QuietMonitor monitor;
  const RunOutcome partial = simulate(job, task, monitor);
  job.strategy.sync = "all_reduce";
  const RunOutcome whole = simulate(job, task, monitor);
  RC_ASSERT(partial.samples == whole.samples);
  RC_ASSERT(relative_difference(partial.model.parameters, whole.model.parameters) < 1e-5);
}

// A step that is not linear in the gradient, so averaging models differs from averaging gradients.
class SignTask final : public Task {
 public:
  explicit SignTask(std::int64_t samples) : data_(std::make_shared<ToyData>(samples, 20, 5)) {}
  std::int64_t training_samples() const override {
    return static_cast<std::int64_t>(data_->labels.size());
  }
  std::unique_ptr<Replica> make_replica() override { return std::make_unique<Signs>(data_); }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

 private:
  struct Signs final : public Replica {
    explicit Signs(std::shared_ptr<const ToyData> data) : toy(std::move(data), 1.0) {}
    Block parameters() override { return toy.parameters(); }
    Block gradient() override { return toy.gradient(); }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override { return toy.compute(samples); }
    void apply(double) override {
      const auto gradient = toy.gradient().floats();
      for (std::size_t i = 0; i < toy.parameters().size; ++i) {
        toy.parameters().data[i] -= std::copysign(0.01F, gradient[i]);
      }
    }
    ToyReplica toy;
  };

  std::shared_ptr<const ToyData> data_;
};

TEST(PartialReduce, OfAllWorkersIsSynchronousModelAveraging) {
  constexpr int kWorkers = 4;
  constexpr std::int64_t kBatch = 40;
  constexpr std::int64_t kSteps = 30;
  const Job job = job_of({1, 1, 0.5, 2}, kWorkers, kBatch, kSteps);
  SignTask task(5 * kBatch);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);

  // By hand: each model takes its own step on its part, then all take their mean.
  std::vector<std::unique_ptr<Replica>> models;
  for (int i = 0; i < kWorkers; ++i) {
    models.push_back(task.make_replica());
  }
  Ledger ledger(ledger_options(job, task.training_samples()));
  const Shares shares = equal_shares(kBatch, kWorkers);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    std::vector<float> mean(models[0]->parameters().size, 0.0F);
    for (Rank rank = 0; rank < kWorkers; ++rank) {
      Replica& model = *models[static_cast<std::size_t>(rank)];
      model.compute(ledger.samples(share_of(ledger.step_after(step * kBatch), shares, rank)));
      model.apply(1);
      for (std::size_t i = 0; i < mean.size(); ++i) {
        mean[i] += model.parameters().data[i] / kWorkers;
      }
    }
    for (const auto& model : models) {
      std::ranges::copy(mean, model->parameters().data);
    }
  }
  EXPECT_LT(relative_difference(outcome.model.parameters, snapshot_of(*models[0]).parameters),
            1e-5);
}

TEST(PartialReduce, LearnsTheRightAnswer) {
  for (const auto& [weights, rule] : {std::pair{GroupWeights::kConstant, DynamicRule::kDecay},
                                      std::pair{GroupWeights::kDynamic, DynamicRule::kDecay},
                                      std::pair{GroupWeights::kDynamic, DynamicRule::kEma}}) {
    Job job = job_of({1, 1, 1, 0.3}, 2, 100, 600);
    job.strategy.of<PartialReduceOptions>().weights = weights;
    job.strategy.of<PartialReduceOptions>().dynamic_rule = rule;
    ToyTask task(1'000, 10, 3, 0.1);
    QuietMonitor monitor;
    simulate(job, task, monitor);
    ASSERT_FALSE(monitor.metrics.empty());
    EXPECT_GT(monitor.metrics.back().accuracy, 0.99)
        << static_cast<int>(weights) << " " << static_cast<int>(rule);
  }
}

// No worker waits for long, so all machines compute nearly all the time; and the model learns.
TEST(PartialReduce, GroupsOfATimeWindow) {
  Job job = job_of({1, 1, 1, 0.3}, 2, 100, 600);
  job.cluster.slowdowns = {{0.3, 1.2}};
  job.strategy.of<PartialReduceOptions>().policy = GroupTiming::kWindow;
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  EXPECT_GT(monitor.metrics.back().accuracy, 0.99);
  EXPECT_GT(figure(outcome, "mean_group_size").value_or(0), 1.2);
  EXPECT_LE(figure(outcome, "longest_window").value_or(1e9), 20);
  for (const WorkerSummary& worker : outcome.workers) {
    EXPECT_GT(worker.compute_seconds, 0.75 * outcome.seconds) << worker.rank;
  }
}

TEST(PartialReduce, EvaluatesAsOftenAsAskedAndEndsAtTheTarget) {
  expect_evaluations_and_an_end_at_the_target(job_of({1, 1, 1, 0.3}, 2, 100, 1));
}

// The same seed gives the same run, with any way of forming groups.
TEST(PartialReduce, IsTheSameEveryTime) {
  Job job = job_of({1, 1, 0.7, 0.3}, 2, 100, 100);
  job.cluster.slowdowns = {{0.2, 4}};
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome one = simulate(job, task, monitor);
  const RunOutcome other = simulate(job, task, monitor);
  EXPECT_EQ(one.model.parameters, other.model.parameters);
  EXPECT_EQ(one.seconds, other.seconds);
}

// Fast workers always meet fast ones and slow workers slow ones: the cluster becomes two clusters.
TEST(PartialReduce, WithoutTheFilterHalvesNeverMeet) {
  for (const auto& speeds :
       {std::vector<double>{1, 1, 0.5, 0.5}, std::vector<double>{1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5}}) {
    Job job = job_of(speeds, 2, 32 * static_cast<std::int64_t>(speeds.size()), 500);
    job.strategy.of<PartialReduceOptions>().filter = false;
    const auto isolated = figure(simulate_phantom(job), "longest_window");
    job.train.steps = 1'000;
    const auto still = figure(simulate_phantom(job), "longest_window");
    EXPECT_TRUE(!still || (isolated && *still > 1.5 * *isolated)) << still.value_or(0);

    job.strategy.of<PartialReduceOptions>().filter = true;
    const RunOutcome filtered = simulate_phantom(job);
    EXPECT_LE(figure(filtered, "longest_window").value_or(1e9),
              static_cast<double>(5 * speeds.size()));
    EXPECT_EQ(figure(filtered, "mean_group_size"), 2.0);
  }
}

// The speedup over all_reduce with equal shares, for the same number of samples.
double gain(const std::vector<double>& speeds, int group, double jitter) {
  Job job = job_of(speeds, group, 512, 500);
  if (jitter > 0) {
    job.cluster.slowdowns = {{0.5, 1 + jitter}};
  }
  const RunOutcome partial = simulate_phantom(job);
  job.strategy.sync = "all_reduce";
  const RunOutcome whole = simulate_phantom(job);
  EXPECT_EQ(partial.samples, whole.samples);
  return whole.seconds / partial.seconds;
}

TEST(PartialReduce, DoesNotWaitForTheSlowest) {
  for (const double jitter : {0.0, 0.05}) {
    EXPECT_GT(gain({1, 1, 1, 1, 1, 1, 1, 0.5}, 2, jitter), 1.65) << jitter;
    EXPECT_GT(gain({1, 1, 1, 1, 1, 1, 1.0 / 3, 1.0 / 3}, 2, jitter), 2.2) << jitter;
    EXPECT_GT(gain(equal_speeds(8), 2, jitter), 0.97) << jitter;
    EXPECT_GT(gain(equal_speeds(8), 4, jitter), 0.97) << jitter;
  }
}

// A worker that still waits at the end for a connection that is no longer possible may leave.
TEST(PartialReduce, TheFilterDoesNotDelayTheEnd) {
  std::vector<double> speeds = equal_speeds(32);
  speeds[0] = 0.02;
  Job job = job_of(speeds, 2, 256, 1);
  job.train.steps.reset();
  job.train.epochs = 1;
  job.model.kind = ModelKind::kPhantom;
  PhantomTask task(3'040, 100'000);
  QuietMonitor monitor;
  const RunOutcome with = simulate(job, task, monitor);
  job.strategy.of<PartialReduceOptions>().filter = false;
  const RunOutcome without = simulate(job, task, monitor);
  EXPECT_LT(with.seconds, 1.1 * without.seconds);
}

// What is not waiting or computing is the exchange; the three add up.
TEST(PartialReduce, TimesAddUp) {
  const RunOutcome outcome = simulate_phantom(job_of({1, 1, 1, 0.25}, 2, 256, 200));
  for (const WorkerSummary& worker : outcome.workers) {
    const Seconds sum = worker.compute_seconds + worker.wait_seconds + worker.communicate_seconds;
    EXPECT_NEAR(sum, outcome.seconds, 1e-6);
    EXPECT_GT(worker.communicate_seconds, 0);
    EXPECT_GT(worker.compute_seconds, 0.5 * outcome.seconds);
  }
  EXPECT_GT(outcome.workers[0].samples, 3 * outcome.workers[3].samples);
}

// A worker is lost at a random time, while it computes, waits or averages.
RC_GTEST_PROP(PartialReduce, EndsWhenAWorkerIsLost, ()) {
  const int workers = *rc::gen::inRange(2, 6);
  const Job job = job_of(equal_speeds(workers), *rc::gen::inRange(2, workers + 1),
                         std::int64_t{10} * workers, 1'000);
  Models models = still_models(workers, *rc::gen::element<std::size_t>(30, 20'000), 1);
  SimCluster cluster(job.cluster);
  start_all(cluster, job, 5'000, models);
  cluster.fail(*rc::gen::inRange(0, workers), *rc::gen::inRange(0, 400) * 1e-4,
               "its plug was pulled");
  try {
    cluster.run();
    RC_FAIL("it went on");
  } catch (const Interrupted& interrupted) {
    RC_ASSERT(std::string(interrupted.what()) == "its plug was pulled");
  }
}

TEST(PartialReduce, ASignalThatMakesNoSenseEndsTheRun) {
  const Job job = job_of(equal_speeds(2), 2, 20, 100);
  for (const ReadySignal& signal : {ReadySignal{0, -1, 10}, ReadySignal{0, 10, 0}}) {
    SimCluster cluster(job.cluster);
    cluster.start(kCoordinator, [&](Node& node) { serve(node, job, 100, [] { return false; }); });
    cluster.start(0, [&](Node& node) { node.send(kCoordinator, kGroupChannel, signal.header()); });
    EXPECT_THROW(cluster.run(), std::runtime_error);
  }
}

TEST(GroupNews, DamagedBytesAreNone) {
  GroupNews news;
  news.members = {3, 5};
  news.weight = 0.25F;
  news.grant.evaluation = 7;
  const Payload payload = news.payload();
  const auto back = GroupNews::of(payload);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->members, news.members);
  EXPECT_EQ(back->weight, 0.25F);
  EXPECT_EQ(back->grant.evaluation, 7);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(GroupNews::of(Payload::copy_of(payload.bytes().first(size))));
  }
}

}  // namespace
}  // namespace motley::partial_reduce_test
