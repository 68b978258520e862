#include "sync/all_reduce/all_reduce.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "runtime/simulate/simulate.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

Job toy_job(int workers, std::int64_t batch, std::int64_t steps) {
  Job job;
  job.train.batch = batch;
  job.train.steps = steps;
  job.train.eval_every = 0;
  job.cluster.workers = workers;
  job.cluster.unit = 1e-4;
  job.cluster.speeds.assign(static_cast<std::size_t>(workers), 1.0);
  job.cluster.bandwidth.assign(static_cast<std::size_t>(workers), 1.25e9);
  return job;
}

// For any number of workers, batch and data set, divisible or not, the parameters equal those of
// one worker.
RC_GTEST_PROP(AllReduce, ManyWorkersEqualOne, ()) {
  const int workers = *rc::gen::inRange(2, 9);
  const auto samples = *rc::gen::inRange<std::int64_t>(20, 300);
  const auto batch = *rc::gen::inRange<std::int64_t>(workers, 64);
  const auto steps = *rc::gen::inRange<std::int64_t>(1, 40);
  ToyTask task(samples, 20, 5, 0.05);
  QuietMonitor monitor;
  const RunOutcome one = simulate(toy_job(1, batch, steps), task, monitor);
  const RunOutcome many = simulate(toy_job(workers, batch, steps), task, monitor);
  RC_ASSERT(one.samples == batch * steps);
  RC_ASSERT(many.samples == batch * steps);
  RC_ASSERT(relative_difference(many.model.parameters, one.model.parameters) < 1e-5);
}

TEST(AllReduce, LearnsTheRightAnswer) {
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  simulate(toy_job(3, 100, 200), task, monitor);
  ASSERT_FALSE(monitor.metrics.empty());
  EXPECT_GT(monitor.metrics.back().accuracy, 0.99);
}

TEST(AllReduce, TakesAsLongAsTheFormulaSays) {
  for (int n : {2, 4, 8}) {
    Job job = toy_job(n, 512, 20);
    job.model.kind = ModelKind::kPhantom;
    PhantomTask task(100'000, 1'000'000);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(job, task, monitor);
    const double compute = 512.0 / n * job.cluster.unit;
    const double exchange =
        2 * (n - 1) * (job.cluster.latency.between(0, 1) + 4e6 / n / job.cluster.bandwidth.front());
    EXPECT_NEAR(outcome.seconds / (20 * (compute + exchange)), 1.0, 0.02) << n;
  }
}

TEST(AllReduce, TimesAddUpAndTheStragglerDoesNotWait) {
  Job job = toy_job(4, 400, 30);
  job.cluster.speeds = {1, 1, 1, 0.25};
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  for (const WorkerSummary& worker : outcome.workers) {
    const Seconds sum = worker.compute_seconds + worker.wait_seconds + worker.communicate_seconds;
    EXPECT_NEAR(sum, outcome.seconds, 0.01 * outcome.seconds);
    EXPECT_EQ(worker.samples, 3'000);
  }
  EXPECT_LT(outcome.workers[3].wait_seconds, 0.05 * outcome.seconds);
  EXPECT_GT(outcome.workers[0].wait_seconds, 0.65 * outcome.seconds);
}

TEST(AllReduce, EndsForAllWhenTheTargetIsReached) {
  Job job = toy_job(3, 100, 10'000);
  job.train.eval_every = 5;
  job.train.target_accuracy = 0.99;
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  EXPECT_EQ(outcome.stopped, "target");
  EXPECT_LT(outcome.samples, 100 * 1'000);
  EXPECT_GE(monitor.metrics.back().accuracy, 0.99);
  for (const WorkerSummary& worker : outcome.workers) {
    EXPECT_EQ(worker.steps, outcome.workers.front().steps);
  }
}

TEST(AllReduce, EvaluatesAtEveryMultipleAndAtTheEnd) {
  Job job = toy_job(2, 64, 25);
  job.train.eval_every = 10;
  // An epoch is a step of 64 and one of 36: the first step that passes a multiple of 640 samples is
  // evaluated.
  ToyTask task(100, 10, 3, 0.1);
  QuietMonitor monitor;
  simulate(job, task, monitor);
  std::vector<std::int64_t> samples;
  for (const Metric& metric : monitor.metrics) {
    samples.push_back(metric.samples);
  }
  EXPECT_EQ(samples, (std::vector<std::int64_t>{664, 1300, 1600}));
}

// Exactly there, although 100 samples are no whole number of steps.
TEST(AllReduce, EvaluatesAtTheEndOfEpochs) {
  Job job = toy_job(2, 64, 10);
  job.train.eval_every = 1;  // does not count
  job.train.eval_every_epochs = 2;
  ToyTask task(100, 10, 3, 0.1);
  QuietMonitor monitor;
  simulate(job, task, monitor);
  std::vector<std::int64_t> samples;
  for (const Metric& metric : monitor.metrics) {
    samples.push_back(metric.samples);
  }
  EXPECT_EQ(samples, (std::vector<std::int64_t>{200, 400, 600, 640}));
}

TEST(AllReduce, StopsInOrderWhenAsked) {
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  monitor.stop_after_samples = 1'000;
  const RunOutcome outcome = simulate(toy_job(4, 100, 10'000), task, monitor);
  EXPECT_EQ(outcome.stopped, "SIGINT");
  EXPECT_GE(outcome.samples, 1'000);
  EXPECT_LE(outcome.samples, 1'200);
}

}  // namespace
}  // namespace motley
