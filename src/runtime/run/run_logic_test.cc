#include "runtime/run/run_logic.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

namespace motley {
namespace {

constexpr std::int64_t kBatch = 50;

RunLogic logic_for(std::optional<double> target = std::nullopt) {
  return RunLogic({.workers = 2, .batch = kBatch, .limit = 1'000, .target_accuracy = target});
}

LossMeter loss_of(double sum, std::int64_t samples) {
  LossMeter loss;
  loss.add(sum, samples);
  return loss;
}

SnapshotInfo whole_at(Seconds seconds, std::int64_t samples) {
  return {{seconds, samples, false, {}, {}}, {{1, 2}, {3}}};
}

DoneInfo worker_done(Seconds seconds, std::int64_t cluster_samples) {
  DoneInfo done;
  done.result.times = {.seconds = seconds, .compute = seconds / 2, .communicate = seconds / 4};
  done.cluster_samples = cluster_samples;
  done.bytes_sent = 7;
  return done;
}

TEST(RunLogic, ReportsWhatIsNewWithTheLossSinceTheReportBefore) {
  RunLogic logic = logic_for();
  const auto first = logic.on_progress(1, 50, loss_of(100, 50));
  ASSERT_TRUE(first);
  EXPECT_EQ(first->samples, 50);
  EXPECT_EQ(first->limit, 1'000);
  EXPECT_EQ(first->loss, 2);
  EXPECT_FALSE(logic.on_progress(1.5, 99, loss_of(10, 10)));  // less than a batch more
  const auto second = logic.on_progress(2, 100, loss_of(30, 10));
  ASSERT_TRUE(second);
  EXPECT_EQ(second->loss, 2);
}

TEST(RunLogic, ALossThatIsNotFiniteDoesNotCount) {
  RunLogic logic = logic_for();
  const auto report = logic.on_progress(1, 50, loss_of(std::nan(""), 50));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->loss, std::nullopt);
  logic.on_progress(2, 100, loss_of(std::numeric_limits<double>::infinity(), 50));
  logic.on_progress(3, 150, loss_of(25, 50));
  const auto whole = logic.on_snapshot(whole_at(3, 150));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->note.loss.mean(), 0.5);
}

TEST(RunLogic, AModelAtAPointOfTheRunIsEvaluatedOnce) {
  RunLogic logic = logic_for();
  EXPECT_TRUE(logic.on_snapshot(whole_at(1, 50)));
  logic.on_progress(1, 50, loss_of(50, 50));
  EXPECT_FALSE(logic.on_snapshot(whole_at(1.5, 50)));
  const auto next = logic.on_snapshot(whole_at(2, 100));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->note.loss.samples, 50);  // the loss that the rejected snapshot did not take
}

TEST(RunLogic, TheStepOfAMetricIsRoundedUp) {
  RunLogic logic = logic_for();
  const SnapshotNote note{2, 101, false, {}, loss_of(10, 5)};
  const Metric metric = logic.on_evaluation(note, {.loss = 0.5, .accuracy = 0.75});
  EXPECT_EQ(metric.seconds, 2);
  EXPECT_EQ(metric.samples, 101);
  EXPECT_EQ(metric.step, 3);
  EXPECT_EQ(metric.loss, 0.5);
  EXPECT_EQ(metric.accuracy, 0.75);
  EXPECT_EQ(metric.train_loss, 2);
}

TEST(RunLogic, NamedNumbersAreInTheMetric) {
  RunLogic logic = logic_for(0.9);
  const Metric metric = logic.on_evaluation({}, {.loss = 1, .metrics = {{"bleu", 30}, {"a", 2}}});
  EXPECT_EQ(metric.named, (std::vector<NamedNumber>{{"a", 2}, {"bleu", 30}}));
  EXPECT_EQ(logic.stopped(), std::nullopt) << "an unknown accuracy reaches no target";
}

TEST(RunLogic, AModelToEvaluateSaysHowFarTheRunWas) {
  RunLogic logic = logic_for();
  EXPECT_EQ(logic.on_snapshot(whole_at(1, 50))->snapshot.samples, 50);
}

// Reports come from many workers, also from some that have counted nothing yet.
TEST(RunLogic, CountsAddUpAndSurvive) {
  RunLogic logic = logic_for();
  logic.on_counts({});
  logic.on_counts({1, 2.5});
  logic.on_counts({10, 0});
  logic.on_counts({});
  EXPECT_EQ(logic.counts(), (std::vector<double>{11, 2.5}));
  RunLogic later = logic_for();
  restore(later, state_of(logic));
  EXPECT_EQ(later.counts(), logic.counts());
}

TEST(RunLogic, StopsAtTheTarget) {
  RunLogic logic = logic_for(0.9);
  logic.on_evaluation({}, {.loss = 1, .accuracy = 0.89});
  EXPECT_EQ(logic.stopped(), std::nullopt);
  logic.on_evaluation({}, {.loss = 1, .accuracy = 0.9});
  EXPECT_EQ(logic.stopped(), kTargetReached);
}

TEST(RunLogic, TheFirstReasonToStopCounts) {
  RunLogic logic = logic_for(0.9);
  EXPECT_TRUE(logic.stop("SIGINT"));
  EXPECT_FALSE(logic.stop("the program"));
  logic.on_evaluation({}, {.loss = 1, .accuracy = 1});
  EXPECT_EQ(logic.stopped(), "SIGINT");
}

TEST(RunLogic, ARunThatIsOverIsNotStopped) {
  RunLogic logic = logic_for(0.9);
  const RunEnd end = logic.finish({worker_done(2, 100), worker_done(3, 120)}, {}, {{5}, {}});
  EXPECT_FALSE(logic.stop("SIGINT"));
  ASSERT_TRUE(end.evaluate);
  logic.on_evaluation(end.evaluate->note, {.loss = 0, .accuracy = 1});
  EXPECT_EQ(logic.stopped(), std::nullopt);
  EXPECT_EQ(end.outcome.stopped, std::nullopt);
}

TEST(RunLogic, TheLastModelIsThatOfTheRunsEnd) {
  RunLogic logic = logic_for();
  logic.on_progress(1, 120, loss_of(60, 120));
  const RunEnd end = logic.finish({worker_done(2, 100), worker_done(3, 120)}, {}, {{5}, {6}});
  EXPECT_EQ(end.outcome.model.parameters, std::vector<float>{5});
  ASSERT_TRUE(end.evaluate);
  EXPECT_EQ(end.evaluate->note.seconds, 3);
  EXPECT_EQ(end.evaluate->note.samples, 120);
  EXPECT_EQ(end.evaluate->note.loss.mean(), 0.5);
  EXPECT_EQ(end.evaluate->snapshot.buffers, std::vector<float>{6});
}

TEST(RunLogic, TheLastModelIsNotEvaluatedTwice) {
  RunLogic logic = logic_for();
  EXPECT_TRUE(logic.on_snapshot(whole_at(2, 120)));
  EXPECT_FALSE(logic.finish({worker_done(2, 120), worker_done(3, 120)}, {}, {}).evaluate);
}

TEST(Outcome, WorkersFirstThenServers) {
  DoneInfo paced = worker_done(2, 100);
  paced.paced_steps = 4;
  paced.missed_steps = 1;
  paced.result.allocation.last_look = "equal speeds";
  const RunOutcome outcome = outcome_of({paced, worker_done(4, 90), DoneInfo{}}, 2);
  ASSERT_EQ(outcome.workers.size(), 2U);
  ASSERT_EQ(outcome.servers.size(), 1U);
  EXPECT_EQ(outcome.servers[0].rank, 2);
  EXPECT_EQ(outcome.seconds, 4);
  EXPECT_EQ(outcome.samples, 100);
  EXPECT_EQ(outcome.workers[0].pace_missed, 0.25);
  EXPECT_EQ(outcome.workers[1].pace_missed, std::nullopt);
  EXPECT_EQ(outcome.workers[0].wait_seconds, 2.5);  // including the wait for the slower worker
  EXPECT_EQ(outcome.allocation.last_look, "equal speeds");
}

// One report of a worker. Losses are small integers here, so sums are exact.
struct Told {
  std::int64_t samples = 0;
  LossMeter loss;
  bool snapshot = false;
};

std::vector<Told> any_course() {
  const auto steps = *rc::gen::inRange(0, 60);
  std::vector<Told> course;
  std::int64_t samples = 0;
  for (int step = 0; step < steps; ++step) {
    samples += *rc::gen::inRange(0, 3);
    const auto behind = *rc::gen::inRange<std::int64_t>(0, 3);  // an outdated report
    course.push_back({std::max<std::int64_t>(0, samples - behind),
                      loss_of(*rc::gen::inRange(0, 100), *rc::gen::inRange(0, 5)),
                      *rc::gen::inRange(0, 4) == 0});
  }
  return course;
}

RC_GTEST_PROP(RunLogicProperty, ReportsOnlyGoForward, ()) {
  RunLogic logic = logic_for();
  std::int64_t reported = 0;
  std::int64_t most = 0;
  for (const Told& told : any_course()) {
    most = std::max(most, told.samples);
    if (const auto report = logic.on_progress(0, told.samples, told.loss)) {
      RC_ASSERT(report->samples > reported);
      reported = report->samples;
    }
    RC_ASSERT(most - reported < kBatch);
  }
}

RC_GTEST_PROP(RunLogicProperty, EveryLossIsInExactlyOneEvaluation, ()) {
  RunLogic logic = logic_for();
  LossMeter told_in_all;
  LossMeter evaluated;
  std::int64_t most = 0;
  for (const Told& told : any_course()) {
    most = std::max(most, told.samples);
    told_in_all.add(told.loss);
    logic.on_progress(0, told.samples, told.loss);
    if (told.snapshot) {
      if (const auto whole = logic.on_snapshot(whole_at(0, told.samples))) {
        evaluated.add(whole->note.loss);
      }
    }
  }
  const RunEnd end = logic.finish({worker_done(1, most + 1), worker_done(1, 0)}, {}, {});
  RC_ASSERT(end.evaluate.has_value());
  evaluated.add(end.evaluate->note.loss);
  RC_ASSERT(evaluated.sum == told_in_all.sum);
  RC_ASSERT(evaluated.samples == told_in_all.samples);
}

RC_GTEST_PROP(RunLogicProperty, NeitherTheReasonNorTheFactOfAStopChanges, ()) {
  RunLogic logic = logic_for(0.5);
  std::optional<std::string> first;
  const auto events = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 4));
  for (const int event : events) {
    if (event == 0) {
      const bool decides = logic.stop("SIGTERM");
      RC_ASSERT(decides == !first.has_value());
      first = first ? first : "SIGTERM";
    } else if (event == 1) {
      logic.on_evaluation({}, {.loss = 0, .accuracy = 0.5});
      first = first ? first : kTargetReached;
    } else {
      logic.on_evaluation({}, {.loss = 0, .accuracy = 0.4});
    }
    RC_ASSERT(logic.stopped() == first);
  }
  RC_ASSERT(logic.finish({worker_done(1, 1)}, {}, {}).outcome.stopped == first);
}

RC_GTEST_PROP(OutcomeProperty, TheTimesOfEveryWorkerAddUpToTheRuns, ()) {
  const auto seconds =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 1'000)));
  std::vector<DoneInfo> results;
  for (const int each : seconds) {
    results.push_back(worker_done(each, each));
  }
  const RunOutcome outcome = outcome_of(results, static_cast<int>(results.size()));
  RC_ASSERT(outcome.seconds == *std::ranges::max_element(seconds));
  for (const WorkerSummary& worker : outcome.workers) {
    RC_ASSERT(worker.wait_seconds >= 0);
    RC_ASSERT(worker.compute_seconds + worker.communicate_seconds + worker.wait_seconds ==
              outcome.seconds);
  }
}

}  // namespace
}  // namespace motley
