// What allocations achieve in whole simulated runs: machines of different speeds do not wait for
// each other, and the model is the same.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cluster/cost.h"
#include "runtime/simulate/simulate.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/toy_task.h"

namespace motley::allocation_test {
namespace {

// Exchanges cost next to nothing, so time is computing and waiting.
Job compute_bound(const std::vector<double>& speeds, std::int64_t batch,
                  const std::string& allocation) {
  Job job;
  job.train.batch = batch;
  job.train.eval_every = 0;
  job.strategy.allocation = allocation;
  job.strategy.shares.assign(speeds.size(), 1.0);
  job.cluster.workers = static_cast<int>(speeds.size());
  job.cluster.unit = 1e-3;
  job.cluster.latency = 1e-7;
  job.cluster.speeds = speeds;
  job.cluster.bandwidth.assign(speeds.size(), 1e12);
  return job;
}

RunOutcome timed(const Job& job, std::int64_t samples = 10'000) {
  PhantomTask task(samples, 1'000);
  QuietMonitor monitor;
  return simulate(job, task, monitor);
}

Seconds epochs(const std::vector<double>& speeds, const std::string& allocation,
               std::int64_t count) {
  Job job = compute_bound(speeds, 256, allocation);
  job.train.epochs = count;
  return timed(job).seconds;
}

// "Training time falls by one third to one half" (Chao et al.) describes a cluster whose mean speed
// is 1.5 to 2 times that of its slowest worker. The ten epochs include adaptation.
TEST(Adaptive, SavesAThirdToAHalf) {
  const auto saved = [](const std::vector<double>& speeds) {
    return 1 - epochs(speeds, "adaptive", 10) / epochs(speeds, "equal", 10);
  };
  EXPECT_NEAR(saved({1, 1.5, 1.5, 2}), 1.0 / 3, 0.02);
  EXPECT_NEAR(saved({1, 1, 2, 2}), 1.0 / 3, 0.02);
  EXPECT_NEAR(saved({1, 2, 2, 3}), 0.5, 0.02);
  EXPECT_NEAR(saved({1, 3}), 0.5, 0.02);
}

// Compares an epoch after the first, which adapts; and the time of the whole training.
TEST(Adaptive, NoWorkerIsWasted) {
  const auto epoch = [](const std::vector<double>& speeds, const std::string& allocation) {
    return epochs(speeds, allocation, 2) - epochs(speeds, allocation, 1);
  };
  const std::vector<double> three{1, 1, 1};
  const std::vector<double> with_a_slow_one{1, 1, 1, 0.25};
  const std::vector<double> with_a_fast_one{1, 1, 1, 2};
  EXPECT_LT(epoch(with_a_slow_one, "adaptive"), 0.95 * epoch(three, "adaptive"));
  EXPECT_GT(epoch(with_a_slow_one, "equal"), 2.9 * epoch(three, "equal"));
  EXPECT_LT(epoch(with_a_fast_one, "adaptive"), 0.68 * epoch(with_a_slow_one, "adaptive"));
  EXPECT_LT(epoch(with_a_fast_one, "equal"), epoch(with_a_slow_one, "equal"));
  EXPECT_LT(epochs(with_a_slow_one, "adaptive", 10), epochs(three, "adaptive", 10));
}

// The rate from the second window on, relative to what the workers could do if none ever waited.
double settled_efficiency(Job job) {
  const std::int64_t window = job.strategy.adaptive.window;
  job.train.steps = window;
  constexpr std::int64_t kSamples = 1'000'000;  // epochs of many steps
  const Seconds first = timed(job, kSamples).seconds;
  job.train.steps = 6 * window;
  const Seconds all = timed(job, kSamples).seconds;
  const auto samples = static_cast<double>(5 * window * job.train.batch);
  return samples / (all - first) / ideal_rate(job.cluster);
}

RC_GTEST_PROP(Adaptive, IsEfficientFromTheSecondWindowOn, ()) {
  const auto workers = *rc::gen::inRange<std::size_t>(2, 65);
  std::vector<double> speeds{1, 8};
  while (speeds.size() < workers) {
    speeds.push_back(1 + *rc::gen::inRange(0, 701) * 0.01);
  }
  RC_ASSERT(settled_efficiency(compute_bound(speeds, 128 * static_cast<std::int64_t>(workers),
                                             "adaptive")) >= 0.95);
}

// Random slowdowns are not a speed: with six-fold steps one time in four, and with 5 % jitter,
// shares find the speeds and stay.
TEST(Adaptive, DisturbancesDoNotMoveTheShares) {
  const std::vector<std::vector<RandomSlowdown>> disturbances = {
      {{0.25, 6}}, {{0.5, 1.1}}, {{0.1, 30}}};
  for (const auto& slowdowns : disturbances) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      Job job = compute_bound({1, 1, 1, 0.25}, 256, "adaptive");
      job.seed = seed;
      job.train.steps = 1'000;
      job.cluster.slowdowns = slowdowns;
      const RunOutcome outcome = timed(job);
      EXPECT_LE(outcome.allocation.history.size(), 4U) << slowdowns[0].factor << " seed " << seed;
      const double slow = static_cast<double>(outcome.allocation.history.back().shares[3]);
      EXPECT_NEAR(slow, 256 / 13.0, 2.5) << slowdowns[0].factor << " seed " << seed;
    }
  }
}

// Equal workers have nothing to gain, however often their steps are slow and however short the
// window: adaptive shares must not cost more than equal ones.
TEST(Adaptive, IsNoWorseThanEqualOnEqualWorkers) {
  const std::vector<RandomSlowdown> disturbances = {{0.5, 6},   {0.4, 2},  {0.3, 1.5},
                                                    {0.5, 1.2}, {0.25, 6}, {0.5, 1.05}};
  for (const RandomSlowdown& disturbance : disturbances) {
    for (const std::size_t workers : {4U, 16U}) {
      constexpr int kSeeds = 3;
      std::map<std::int64_t, double> ratios;  // by window
      for (int seed = 1; seed <= kSeeds; ++seed) {
        Job job = compute_bound(std::vector<double>(workers, 1.0),
                                64 * static_cast<std::int64_t>(workers), "equal");
        job.seed = static_cast<std::uint64_t>(seed);
        job.train.steps = 400;
        job.cluster.slowdowns = {disturbance};
        const Seconds equal = timed(job).seconds;
        job.strategy.allocation = "adaptive";
        for (const std::int64_t window : {1, 3, 10}) {
          job.strategy.adaptive.window = window;
          ratios[window] += timed(job).seconds / equal / kSeeds;
        }
      }
      for (const auto& [window, ratio] : ratios) {
        EXPECT_LE(ratio, 1.02) << disturbance.probability << " x" << disturbance.factor << ", "
                               << workers << " workers, window " << window;
      }
    }
  }
}

// An event anywhere in a window: two windows later the shares are right again.
RC_GTEST_PROP(Adaptive, FollowsASpeedEventWithinTwoWindows, ()) {
  Job job = compute_bound({1, 1, 1, 0.5}, 700, "adaptive");
  job.train.steps = 60;
  const Seconds step = 0.2;  // 700 samples at 3.5 samples/ms, once the shares are right
  const Seconds at = 6 + step * *rc::gen::inRange(0, 100) * 0.1;
  const auto worker = *rc::gen::inRange(0, 4);
  const auto speed = *rc::gen::element(0.25, 2.0, 4.0);
  job.cluster.events = {{.at = at, .worker = worker, .speed = speed}};
  std::vector<double> speeds = job.cluster.speeds;
  speeds[static_cast<std::size_t>(worker)] = speed;
  // How many steps were completed before it, from a run that ends there.
  std::int64_t steps_before = 1;
  for (Job shorter = job; steps_before < 60; ++steps_before) {
    shorter.train.steps = steps_before;
    if (timed(shorter).seconds > at) {
      break;
    }
  }
  const RunOutcome outcome = timed(job);
  const ShareRecord* two_windows_later = nullptr;
  for (const ShareRecord& record : outcome.allocation.history) {
    if (record.step <= steps_before + 2 * job.strategy.adaptive.window) {
      two_windows_later = &record;
    }
  }
  double longest = 0;
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    longest = std::max(longest, static_cast<double>(two_windows_later->shares[i]) / speeds[i]);
  }
  const double best = 700 / std::accumulate(speeds.begin(), speeds.end(), 0.0);
  RC_ASSERT(longest <= 1.02 * best);
}

// A step of b samples in p parts takes p times the overhead; with the right shares, and with shares
// that ignore it.
TEST(MicroBatches, CostTheOverheadOnceAPart) {
  Job job = compute_bound({1, 1}, 240, "equal");
  job.cluster.overhead = {0.05, 0.05};
  job.train.steps = 100;
  EXPECT_NEAR(timed(job, 24'000).seconds, 100 * (0.05 + 0.12), 0.05);
  job.train.micro_batch = {1'000, 50};
  EXPECT_NEAR(timed(job, 24'000).seconds, 100 * (3 * 0.05 + 0.12), 0.05);
  job.strategy.allocation = "adaptive";
  const RunOutcome adaptive = timed(job, 24'000);
  EXPECT_EQ(adaptive.allocation.history.back().shares, (std::vector<std::size_t>{145, 95}));
  EXPECT_LT(adaptive.seconds, 0.8 * 27);
}

Job any_job(const std::string& allocation) {
  const auto workers = *rc::gen::inRange<std::size_t>(1, 9);
  std::vector<double> speeds;
  for (std::size_t i = 0; i < workers; ++i) {
    speeds.push_back(*rc::gen::inRange(1, 17) * 0.25);
  }
  const auto batch = *rc::gen::inRange<std::int64_t>(static_cast<std::int64_t>(workers), 100);
  Job job = compute_bound(speeds, batch, allocation);
  for (double& share : job.strategy.shares) {
    share = *rc::gen::inRange(1, 100);
  }
  job.strategy.adaptive.window = *rc::gen::inRange<std::int64_t>(1, 8);
  for (std::size_t i = 0; i < workers; ++i) {
    job.cluster.overhead.push_back(1e-3 * *rc::gen::inRange(0, 20));
  }
  job.cluster.events = {{.at = 0.5, .worker = 0, .speed = 0.3}};
  job.train.steps = *rc::gen::inRange<std::int64_t>(1, 60);
  return job;
}

// Whatever the shares and however they change: the parameters are those of one worker with the
// whole batch.
RC_GTEST_PROP(Allocations, DoNotChangeWhatIsLearnt, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(20, 400);
  ToyTask task(samples, 20, 5, 0.05);
  QuietMonitor monitor;
  for (const char* allocation : {"equal", "static", "adaptive", "dynamic"}) {
    const Job job = any_job(allocation);
    Job alone = compute_bound({1}, job.train.batch, "equal");
    alone.train.steps = job.train.steps;
    const RunOutcome many = simulate(job, task, monitor);
    const RunOutcome one = simulate(alone, task, monitor);
    RC_ASSERT(many.samples == one.samples);
    RC_ASSERT(relative_difference(many.model.parameters, one.model.parameters) < 1e-5);
  }
}

// A task that remembers which samples were computed, in order.
class Remembering final : public Task {
 public:
  explicit Remembering(std::int64_t samples) : samples_(samples) {}
  std::int64_t training_samples() const override { return samples_; }
  std::unique_ptr<Replica> make_replica() override { return std::make_unique<Copy>(*this); }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

  std::vector<SampleIndex> computed;
  std::vector<std::size_t> micro_batches;  // of the workers, by rank

 private:
  class Copy final : public Replica {
   public:
    explicit Copy(Remembering& task) : task_(task) {}
    Block parameters() override { return {numbers_.data(), 1}; }
    Block gradient() override { return {numbers_.data(), numbers_.size()}; }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override {
      task_.computed.insert(task_.computed.end(), samples.begin(), samples.end());
      return 0;
    }
    void apply(double) override {}
    void set_micro_batch(std::size_t most) override { task_.micro_batches.push_back(most); }

   private:
    Remembering& task_;
    std::vector<float> numbers_ = std::vector<float>(1 + kTail);
  };

  std::int64_t samples_;
};

RC_GTEST_PROP(Allocations, UseEverySampleOnceAnEpoch, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(9, 300);
  for (const char* allocation : {"equal", "static", "adaptive", "dynamic"}) {
    Remembering task(samples);
    QuietMonitor monitor;
    Job job = any_job(allocation);
    job.train.steps.reset();
    job.train.epochs = 3;
    simulate(job, task, monitor);
    RC_ASSERT(task.computed.size() == static_cast<std::size_t>(3 * samples));
    for (auto epoch = task.computed.begin(); epoch != task.computed.end(); epoch += samples) {
      std::sort(epoch, epoch + samples);
      for (std::int64_t i = 0; i < samples; ++i) {
        RC_ASSERT(epoch[i] == static_cast<SampleIndex>(i));
      }
    }
  }
}

TEST(MicroBatches, EveryReplicaKnowsThatOfItsWorker) {
  Remembering task(100);
  QuietMonitor monitor;
  Job job = compute_bound({1, 1, 1}, 30, "equal");
  job.train.micro_batch = {7, 3, 1};
  job.train.steps = 5;
  simulate(job, task, monitor);
  EXPECT_EQ(task.micro_batches, (std::vector<std::size_t>{7, 3, 1}));
}

TEST(Dynamic, AdaptsAtTheEndsOfEpochs) {
  Job job = compute_bound({1, 1, 1, 0.25}, 256, "dynamic");
  job.train.epochs = 3;
  const RunOutcome outcome = timed(job);
  ASSERT_GE(outcome.allocation.history.size(), 2U);
  EXPECT_EQ(outcome.allocation.history[1].step, 40);  // 10,000 samples
  EXPECT_EQ(outcome.allocation.history[1].shares, (std::vector<std::size_t>{79, 79, 79, 19}));
  EXPECT_LT(outcome.seconds, 0.6 * epochs({1, 1, 1, 0.25}, "equal", 3));
}

TEST(Dynamic, DecidesNothingForARunThatIsOver) {
  Job job = compute_bound({1, 1, 1, 0.25}, 256, "dynamic");
  job.train.epochs = 1;
  EXPECT_EQ(timed(job).allocation.history.size(), 1U);
}

TEST(Static, SharesAreThoseOfTheJob) {
  Job job = compute_bound({1, 1, 1, 0.25}, 260, "static");
  job.strategy.shares = {4, 4, 4, 1};
  job.train.epochs = 1;
  const RunOutcome outcome = timed(job);
  ASSERT_EQ(outcome.allocation.history.size(), 1U);
  EXPECT_EQ(outcome.allocation.history[0].shares, (std::vector<std::size_t>{80, 80, 80, 20}));
  EXPECT_GT(10'000 / outcome.seconds, 0.97 * ideal_rate(job.cluster));
}

}  // namespace
}  // namespace motley::allocation_test
