// The record of a run agrees with its outcome, for every method.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "motley/sync/ashl.h"
#include "motley/sync/hop.h"
#include "motley/sync/partial_reduce.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/recording_monitor.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

Job job_for(std::string_view sync) {
  Job job = simulated_job(std::string(sync), {1, 1, 0.5, 0.25}, 40, 25);
  job.strategy.allocation = "adaptive";
  job.strategy.of<PartialReduceOptions>().group = 2;
  job.strategy.of<HopOptions>().max_jump = 4;
  job.cluster.bandwidth.assign(4, 1e7);  // slow enough that communication takes visible time
  return job;
}

RunOutcome run(const Job& job, RecordingMonitor& monitor) {
  ToyTask task(100, 20'000, 1, 1e-5);
  const RunOutcome outcome = simulate(job, task, monitor);
  monitor.finish(outcome);
  return outcome;
}

void expect_times_add_up(const RunRecord& record, const RunOutcome& outcome) {
  ASSERT_EQ(record.paces().size(), outcome.workers.size());
  for (const WorkerPace& recorded : record.paces()) {
    const WorkerSummary& worker = outcome.workers[static_cast<std::size_t>(recorded.rank)];
    const Seconds close = 1e-6 * outcome.seconds;
    EXPECT_NEAR(worker.compute_seconds + worker.communicate_seconds + worker.wait_seconds,
                outcome.seconds, close);
    EXPECT_NEAR(recorded.compute, worker.compute_seconds, close);
    EXPECT_NEAR(recorded.communicate, worker.communicate_seconds, close);
    EXPECT_NEAR(recorded.wait, worker.wait_seconds, close);
    EXPECT_GT(worker.communicate_seconds, 0);
    EXPECT_NEAR(recorded.samples, static_cast<double>(worker.samples), 1e-6);
    EXPECT_NEAR(recorded.steps, static_cast<double>(worker.steps), 1e-6);
  }
}

void expect_no_gap_between_spans(const RunRecord& record) {
  for (const auto& worker : record.workers()) {
    Seconds end = 0;
    worker.spans.for_each([&](const Span& span) {
      EXPECT_EQ(span.begin, end);
      EXPECT_GE(span.end, span.begin);
      end = span.end;
    });
    EXPECT_NEAR(end, record.seconds(), 1e-9);
  }
}

void expect_arrows_forward(const RunRecord& record) {
  std::set<Rank> heard_from;
  for (const auto& worker : record.workers()) {
    worker.exchanges.for_each([&](const Exchange& exchange) {
      EXPECT_GT(exchange.received, exchange.sent);
      EXPECT_LE(exchange.received, record.seconds() + 1e-9);
      EXPECT_GT(exchange.bytes, 0);
      heard_from.insert(exchange.from);
    });
  }
  ASSERT_FALSE(heard_from.empty());
  EXPECT_GE(*heard_from.begin(), 0);
  EXPECT_LT(*heard_from.rbegin(), kFirstServer + record.facts().servers);
}

// If workers go at their own pace, the record says how far they are behind.
void expect_behind(const RunRecord& record, bool at_own_pace) {
  ASSERT_EQ(record.behind().has_value(), at_own_pace);
  if (at_own_pace) {
    const auto& counts = record.behind()->counts;
    EXPECT_GT(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}), 20);
  }
}

class Recording : public testing::TestWithParam<std::string_view> {};

TEST_P(Recording, IsWhatTheRunCameTo) {
  const Job job = job_for(GetParam());
  RecordingMonitor monitor(job);
  const RunOutcome outcome = run(job, monitor);
  EXPECT_EQ(monitor.begun, 1);
  expect_times_add_up(monitor.record, outcome);
  expect_no_gap_between_spans(monitor.record);
  expect_arrows_forward(monitor.record);
  expect_behind(monitor.record, find_method(GetParam())->advance == Advance::kAtOwnPace);
}

ClusterEvent event_at(Seconds at, EventKind kind, Rank worker) {
  ClusterEvent event{.at = at};
  event.kind = kind;
  event.worker = worker;
  return event;
}

// Worker 1 is lost and comes back, worker 2 leaves, and worker 6 joins.
Job job_with_changes(std::string_view sync) {
  Job job = job_for(sync);
  job.train.steps = 100;
  job.strategy.of<HopOptions>().max_jump = 0;  // a job that may have other workers must be sound
  job.cluster.respawn = 0;
  job.cluster.events = {event_at(0.2, EventKind::kDies, 1), event_at(0.35, EventKind::kJoins, 6),
                        event_at(0.5, EventKind::kJoins, 1), event_at(0.7, EventKind::kLeaves, 2)};
  return job;
}

// What each worker did is drawn within its stays.
void expect_nothing_while_absent(const RunRecord& record) {
  for (const auto& worker : record.workers()) {
    worker.spans.for_each([&](const Span& span) {
      EXPECT_TRUE(
          std::ranges::any_of(record.members(),
                              [&](const MemberRecord& stay) {
                                return stay.process == ProcessId{ProcessKind::kWorker, worker.id} &&
                                       span.begin >= stay.joined - 1e-9 &&
                                       span.end <= stay.left.value_or(record.seconds()) + 1e-9;
                              }))
          << worker.id << ": " << span.begin << " to " << span.end;
    });
  }
}

// A message is drawn from where its sender was at that time.
void expect_arrows_between_members(const RunRecord& record) {
  for (const auto& worker : record.workers()) {
    worker.exchanges.for_each([&](const Exchange& exchange) {
      EXPECT_NE(exchange.from, worker.id);
      EXPECT_TRUE(std::ranges::any_of(record.members(),
                                      [&](const MemberRecord& stay) {
                                        return record_place(stay.process) == exchange.from &&
                                               exchange.sent >= stay.joined - 1e-9 &&
                                               exchange.sent <=
                                                   stay.left.value_or(record.seconds()) + 1e-9;
                                      }))
          << exchange.from << " to " << worker.id << " at " << exchange.sent;
    });
  }
}

TEST_P(Recording, HasARowForEverybodyWhoEverTookPart) {
  const Job job = job_with_changes(GetParam());
  RecordingMonitor monitor(job);
  const RunOutcome outcome = run(job, monitor);
  const RunRecord& record = monitor.record;
  std::vector<int> ids;
  std::int64_t samples = 0;
  for (const auto& worker : record.workers()) {
    ids.push_back(worker.id);
    samples += worker.latest.samples;
    EXPECT_GT(worker.spans.size(), 0U) << worker.id;
  }
  EXPECT_EQ(ids, (std::vector{0, 1, 2, 3, 6}));
  EXPECT_EQ(record.workers_there(), 4);
  expect_nothing_while_absent(record);
  expect_arrows_between_members(record);
  EXPECT_EQ(std::ssize(record.members()), std::ssize(outcome.members));
  std::vector<TermCause> causes;
  record.terms().for_each([&](const TermRecord& term) { causes.push_back(term.cause); });
  causes.erase(std::ranges::unique(causes).begin(), causes.end());  // two may join at once
  EXPECT_EQ(causes, (std::vector{TermCause::kStart, TermCause::kLoss, TermCause::kNewcomer,
                                 TermCause::kLeave}));
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> all;
  for (const Method* method : methods()) {
    all.push_back(method->name());
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(OfEveryMethod, Recording, testing::ValuesIn(names()),
                         [](const auto& method) { return std::string(method.param); });

// The training loss covers the samples since the last evaluation, whichever workers computed them.
TEST(TrainLoss, IsTheSameHoweverManyWorkers) {
  std::vector<std::vector<Metric>> metrics;
  for (const int workers : {1, 4}) {
    Job job = simulated_job("all_reduce", equal_speeds(workers), 40, 25);
    job.train.eval_every = 10;
    RecordingMonitor monitor(job);
    run(job, monitor);
    metrics.push_back(monitor.record.metrics());
  }
  ASSERT_EQ(metrics[0].size(), 3U);
  ASSERT_EQ(metrics[1].size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(*metrics[1][i].train_loss / *metrics[0][i].train_loss, 1, 1e-4);
  }
}

std::set<std::string> kinds_decided(const Job& job) {
  RecordingMonitor monitor(job);
  run(job, monitor);
  std::set<std::string> kinds;
  monitor.record.decisions().for_each([&](const RunRecord::Decided& decided) {
    EXPECT_FALSE(decided.decision.reason.empty()) << decided.decision.kind;
    EXPECT_FALSE(decided.decision.what.empty()) << decided.decision.kind;
    kinds.insert(decided.decision.kind);
  });
  return kinds;
}

TEST(Decisions, AreRecordedWithTheirReasons) {
  using Kinds = std::set<std::string>;
  EXPECT_EQ(kinds_decided(job_for("all_reduce")), Kinds{"shares"});
  EXPECT_TRUE(kinds_decided(job_for("partial_reduce")).contains("group"));
  EXPECT_TRUE(kinds_decided(job_for("adsp")).contains("commits"));
  Job hop = job_for("hop");
  hop.strategy.allocation = "equal";
  hop.strategy.of<HopOptions>().mode = HopMode::kBackup;
  hop.strategy.of<HopOptions>().backup = 1;
  hop.strategy.of<HopOptions>().max_gap = 5;
  EXPECT_EQ(kinds_decided(hop), Kinds{"jump"});
  Job ashl = job_for("ashl");
  ashl.strategy.allocation = "equal";
  ashl.strategy.of<AshlOptions>().loss_preset = 1e9;
  EXPECT_EQ(kinds_decided(ashl), (Kinds{"plan", "stage"}));
}

// With two servers, each makes the fast workers wait for the slowest and records the decision.
TEST(Decisions, OfServersAreRecorded) {
  Job job = job_for("ps_ssp");
  job.strategy.allocation = "equal";
  job.strategy.ps.servers = 2;
  RecordingMonitor monitor(job);
  run(job, monitor);
  std::map<RecordPlace, std::set<std::string>> held;  // by server
  monitor.record.decisions().for_each([&](const RunRecord::Decided& decided) {
    if (decided.decision.kind == "held") {
      EXPECT_NE(decided.decision.reason.find("worker 3, the slowest"), std::string::npos);
      held[decided.who].insert(decided.decision.what);
    }
  });
  EXPECT_TRUE(held[kFirstServer].contains("worker 0's commits wait"));
  EXPECT_TRUE(held[kFirstServer + 1].contains("worker 0's commits wait"));
}

}  // namespace
}  // namespace motley
