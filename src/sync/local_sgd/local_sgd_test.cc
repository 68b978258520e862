#include "sync/local_sgd/local_sgd.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "job/choices.h"
#include "motley/sync/local_sgd.h"
#include "tests/own_pace.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

Job local_job(std::vector<double> speeds, std::int64_t batch, std::int64_t steps, std::int64_t h) {
  Job job = simulated_job("local_sgd", std::move(speeds), batch, steps);
  job.strategy.of<LocalSgdOptions>().steps = h;
  return job;
}

// Adds up the losses that a worker reports.
class LossObserver final : public Observer {
 public:
  void on_step(Seconds, const Progress& progress, const WorkerResult&) override {
    loss_sum += progress.loss_sum;
    loss_samples += progress.loss_samples;
  }
  void on_snapshot(Seconds, const Progress&, Replica&) override {}

  double loss_sum = 0;
  std::int64_t loss_samples = 0;
};

// Trains with these replicas, one per worker, and returns what each reported.
template <class R>
std::vector<LossObserver> train_all(const Job& job, std::int64_t samples,
                                    std::vector<std::unique_ptr<R>>& replicas) {
  std::vector<LossObserver> observers(replicas.size());
  SimCluster cluster(job.cluster);
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    cluster.start(rank, [&, rank](Node& node) {
      const auto r = static_cast<std::size_t>(rank);
      train(node, {job, samples, *replicas[r], observers[r], [] { return false; }});
    });
  }
  cluster.run();
  return observers;
}

// One parameter, which begins at 10. Every sample has the gradient `slope` and the loss `loss`; the
// learning rate is a half. So a step on any number of samples moves the parameter by -slope / 2.
class Slope final : public Replica {
 public:
  Slope(float slope, double loss, float buffer) : slope_(slope), loss_(loss), buffer_(buffer) {}
  Block parameters() override { return {&parameter_, 1}; }
  Block gradient() override { return {gradient_, 1 + kTail}; }
  Block buffers() override { return {&buffer_, 1}; }
  double compute(std::span<const SampleIndex> samples) override {
    samples_ = samples.size();
    gradient_[0] = static_cast<float>(samples_) * slope_;
    return static_cast<double>(samples_) * loss_;
  }
  void apply(double scale) override {
    EXPECT_GT(samples_, 0U) << "a step on no samples";
    parameter_ -= 0.5F * static_cast<float>(scale) * gradient_[0];
  }
  float value() const { return parameter_; }
  float buffer() const { return buffer_; }

 private:
  const float slope_;
  const double loss_;
  float parameter_ = 10;
  float buffer_;
  float gradient_[1 + kTail] = {};
  std::size_t samples_ = 0;
};

using Slopes = std::vector<std::unique_ptr<Slope>>;

// Rank r's samples have loss r + 1; its buffer begins at 8 r.
Slopes slopes(const std::vector<float>& values) {
  Slopes replicas;
  for (const float value : values) {
    const auto rank = static_cast<float>(replicas.size());
    replicas.push_back(std::make_unique<Slope>(value, static_cast<double>(rank) + 1, 8 * rank));
  }
  return replicas;
}

// With H = 1 the average of all steps is the step of the whole batch, because averages and steps
// are linear. With momentum this holds as long as the shares keep their proportion.
RC_GTEST_PROP(LocalSgd, OneStepBetweenAveragesIsAllReduce, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  const bool has_momentum = *rc::gen::arbitrary<bool>();
  const auto batch = *rc::gen::inRange<std::int64_t>(std::int64_t{2} * workers, 60);
  const std::int64_t rest = has_momentum ? 0 : *rc::gen::inRange<std::int64_t>(0, batch);
  ToyTask task(4 * batch + rest, 20, 5, 0.02, has_momentum ? 0.9 : 0);
  Job job = local_job(equal_speeds(workers), batch, 30, 1);
  if (*rc::gen::arbitrary<bool>()) {
    job.strategy.allocation = "static";
    job.strategy.shares.front() = 3;
  }
  QuietMonitor monitor;
  const RunOutcome local = simulate(job, task, monitor);
  job.strategy.sync = "all_reduce";
  const RunOutcome all_reduce = simulate(job, task, monitor);
  RC_ASSERT(local.samples == all_reduce.samples);
  RC_ASSERT(relative_difference(local.model.parameters, all_reduce.model.parameters) < 1e-5);
}

TEST(LocalSgd, LearnsTheRightAnswerInEveryCodec) {
  for (const Choice& codec : kCodecs) {
    Job job = local_job({1, 0.5, 2}, 100, 400, 8);
    job.strategy.codec = static_cast<CodecKind>(codec.value);
    job.strategy.topk.ratio = 0.2;
    ToyTask task(1'000, 20, 3, 0.05);
    QuietMonitor monitor;
    simulate(job, task, monitor);
    ASSERT_FALSE(monitor.metrics.empty());
    EXPECT_GT(monitor.metrics.back().accuracy, 0.99) << codec.name;
  }
}

// This also holds if the run ends between two averages, and with short steps.
TEST(LocalSgd, AllWorkersEndWithTheSameModel) {
  for (const Choice& codec : kCodecs) {
    for (int workers = 1; workers <= 4; ++workers) {
      for (const std::int64_t h : {1, 3, 8, 100}) {
        Job job = local_job(equal_speeds(workers), 20, 13, h);
        job.strategy.codec = static_cast<CodecKind>(codec.value);
        ToyTask task(90, 10, 3, 0.05);
        std::vector<std::unique_ptr<Replica>> replicas;
        for (Rank rank = 0; rank < workers; ++rank) {
          replicas.push_back(task.make_replica());
        }
        const auto first = snapshot_of(*replicas.front()).parameters;
        train_all(job, 90, replicas);
        const auto last = snapshot_of(*replicas.front()).parameters;
        EXPECT_NE(last, first);
        for (const auto& replica : replicas) {
          EXPECT_EQ(snapshot_of(*replica).parameters, last) << codec.name << " " << h;
        }
      }
    }
  }
}

// Shares 3 : 1, two steps of -1/2 and of -5/2 each: 10 - 3/4 * 1 - 1/4 * 5.
TEST(LocalSgd, AChangeWeighsAsMuchAsItsSamples) {
  Job job = local_job(equal_speeds(2), 4, 2, 2);
  job.strategy.allocation = "static";
  job.strategy.shares = {3, 1};
  Slopes replicas = slopes({1, 5});
  train_all(job, 100, replicas);
  EXPECT_EQ(replicas[0]->value(), 8.0F);
  EXPECT_EQ(replicas[1]->value(), 8.0F);
  EXPECT_EQ(replicas[0]->buffer(), 2.0F);  // 3/4 * 0 + 1/4 * 8
  EXPECT_EQ(replicas[1]->buffer(), 2.0F);

  // A step of 4 samples and one of 2, one for each worker: 4/6 and 2/6.
  job.train.epochs = 1;
  replicas = slopes({1, 5});
  train_all(job, 6, replicas);
  EXPECT_FLOAT_EQ(replicas[0]->value(), 10 - 4.0F / 6 * 1 - 2.0F / 6 * 5);
  EXPECT_FLOAT_EQ(replicas[0]->buffer(), 2.0F / 6 * 8);
  EXPECT_EQ(replicas[1]->value(), replicas[0]->value());
}

// Four workers, but samples for only two of them in the last step: the models of the others do not
// change.
TEST(LocalSgd, WithoutSamplesThereIsNoStep) {
  Job job = local_job(equal_speeds(4), 4, 2, 2);
  job.train.epochs = 1;
  Slopes replicas = slopes({1, 2, 3, 4});
  train_all(job, 6, replicas);
  const float change = (2 * 1.0F + 2 * 2.0F + 1 * 1.5F + 1 * 2.0F) / 6;
  for (const auto& replica : replicas) {
    EXPECT_FLOAT_EQ(replica->value(), 10 - change);
  }
}

// Two rounds of two steps of -1/2: the change d is -1 each time. v = d, then 3/2 d; the outer steps
// are 1/2 (d + 1/2 d) = -3/4 and 1/2 (d + 3/4 d) = -7/8.
TEST(LocalSgd, TheOuterStepIsNesterovs) {
  Job job = local_job(equal_speeds(2), 4, 4, 2);
  job.strategy.of<LocalSgdOptions>().outer_lr = 0.5;
  job.strategy.of<LocalSgdOptions>().outer_momentum = 0.5;
  Slopes replicas = slopes({1, 1});
  train_all(job, 100, replicas);
  EXPECT_EQ(replicas[0]->value(), 10.0F - 0.75F - 0.875F);
  EXPECT_EQ(replicas[1]->value(), replicas[0]->value());

  job.strategy.of<LocalSgdOptions>().outer_momentum = 0;
  replicas = slopes({1, 1});
  train_all(job, 100, replicas);
  EXPECT_EQ(replicas[0]->value(), 10.0F - 0.5F - 0.5F);
}

// Between averages rank 0 reports its own losses; with the average, all that it has not reported.
TEST(LocalSgd, EveryLossIsReportedOnce) {
  for (const std::int64_t h : {1, 3, 4}) {
    Slopes replicas = slopes({1, 1, 1});
    const auto told = train_all(local_job(equal_speeds(3), 6, 10, h), 1'000, replicas);
    EXPECT_EQ(told[0].loss_samples, 60);
    EXPECT_DOUBLE_EQ(told[0].loss_sum, 20 * (1 + 2 + 3));
    EXPECT_EQ(told[1].loss_samples + told[2].loss_samples, 0);
  }
}

TEST(LocalSgd, EverySampleOnce) {
  for (const bool stopped : {false, true}) {
    expect_every_sample_once(local_job({1, 0.5, 2}, 32, 100, 7), 500, stopped);
  }
}

TEST(LocalSgd, AllLeaveTogetherWhenAsked) {
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  monitor.stop_after_samples = 1'000;
  const RunOutcome outcome = simulate(local_job({1, 0.5, 2, 1}, 100, 10'000, 8), task, monitor);
  EXPECT_EQ(outcome.stopped, "SIGINT");
  EXPECT_GE(outcome.samples, 1'000);
  EXPECT_LE(outcome.samples, 1'000 + 2 * 800);
  for (const WorkerSummary& worker : outcome.workers) {
    EXPECT_EQ(worker.steps * 100, outcome.samples);
    EXPECT_EQ(worker.steps % 8, 0);
  }
}

// Averages happen every 40 samples; those that pass a multiple of 50 are evaluated, and the last
// one.
TEST(LocalSgd, EvaluatesAveragesOnly) {
  Job job = local_job(equal_speeds(2), 10, 21, 4);
  job.train.eval_every = 5;
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  simulate(job, task, monitor);
  std::vector<std::int64_t> samples;
  for (const Metric& metric : monitor.metrics) {
    samples.push_back(metric.samples);
  }
  EXPECT_EQ(samples, (std::vector<std::int64_t>{80, 120, 160, 200, 210}));
}

// Nothing is sent between averages.
TEST(LocalSgd, ExchangesOncePerAverage) {
  const auto bytes_with = [](const std::string& sync, CodecKind codec) {
    Job job = local_job(equal_speeds(4), 64, 32, 8);
    job.strategy.sync = sync;
    job.strategy.codec = codec;
    const RunOutcome outcome = simulate_phantom(job);
    EXPECT_EQ(outcome.samples, 64 * 32);
    return static_cast<double>(outcome.workers.front().bytes_sent);
  };
  EXPECT_NEAR(
      bytes_with("local_sgd", CodecKind::kNone) / bytes_with("all_reduce", CodecKind::kNone),
      1.0 / 8, 1e-3);
  EXPECT_NEAR(
      bytes_with("local_sgd", CodecKind::kFp16) / bytes_with("all_reduce", CodecKind::kNone),
      1.0 / 16, 1e-3);
}

TEST(LocalSgd, ALostWorkerEndsTheRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_an_end_when_a_worker_is_lost(local_job({1, 0.5, 2, 1}, 100, 1, 3), seed);
  }
}

}  // namespace
}  // namespace motley
