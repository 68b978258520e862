// Coordinator and workers as real processes, without torch.
#include "runtime/coordinator/coordinator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "motley/method.h"
#include "runtime/simulate/simulate.h"
#include "sync/registry.h"
#include "tests/figure.h"
#include "tests/quiet_monitor.h"
#include "tests/recording_monitor.h"
#include "tests/toy_processes.h"

namespace motley {
namespace {

// Two methods that a user might have written, each with a mistake that makes a run hang.
constexpr auto kQuestions = method_channel(0);

// A worker that asks the coordinator once a step and waits for the answer.
class Asker final : public Strategy {
 public:
  explicit Asker(const StrategyContext& context) : node_(context.node) {}
  std::optional<Work> begin() override {
    node_.send(kCoordinator, kQuestions, {});
    node_.receive({kQuestions, kCoordinator});
    return std::nullopt;
  }
  Progress finish(const Computed&) override { return {}; }
  Seconds waited() const override { return 0; }
  void state(Archive&) override {}

 private:
  Node& node_;
};

std::unique_ptr<Strategy> make_asker(const StrategyContext& context) {
  return std::make_unique<Asker>(context);
}

ServiceResult answer(const ServiceContext& context, int times) {
  for (int i = 0; i < times; ++i) {
    const Message question = context.node.receive({kQuestions});
    context.node.send(question.from, kQuestions, {});
  }
  return {};
}

const Method kReturnsEarly = {
    .schema = {.name = "returns_early", .summary = "its service leaves one worker waiting (test)"},
    .advance = Advance::kAtOwnPace,
    .make = make_asker,
    .serve = [](const auto& context) { return answer(context, context.job.cluster.workers - 1); }};

const Method kNeverReturns = {
    .schema = {.name = "never_returns", .summary = "its service waits for one more (test)"},
    .advance = Advance::kAtOwnPace,
    .make = make_asker,
    .serve = [](const auto& context) { return answer(context, context.job.cluster.workers + 1); }};

std::string failure_of(const Job& job) {
  QuietMonitor monitor;
  try {
    train_toy(job, monitor);
  } catch (const RunFailed& failed) {
    return failed.what();
  }
  return "";
}

// Nothing is received before it was sent, up to the precision of the clocks.
void expect_arrows_forward(const RunRecord& record, Seconds tolerance) {
  std::size_t arrows = 0;
  for (const auto& worker : record.workers()) {
    worker.exchanges.for_each([&](const Exchange& exchange) {
      EXPECT_GT(exchange.received, exchange.sent - tolerance);
      EXPECT_LT(exchange.received, record.seconds() + 1);
      ++arrows;
    });
  }
  EXPECT_GT(arrows, 10U);
}

TEST(Coordinator, ARealRunEqualsASimulatedOne) {
  const Job job = toy_job();
  QuietMonitor real_monitor;
  QuietMonitor simulated_monitor;
  const RunOutcome real = train_toy(job, real_monitor);
  const RunOutcome simulated = simulate(job, *toy_task(job), simulated_monitor);

  EXPECT_EQ(real.samples, 1'500);
  EXPECT_EQ(real.stopped, std::nullopt);
  EXPECT_EQ(real.model.parameters, simulated.model.parameters);
  ASSERT_EQ(real_monitor.metrics.size(), 3U);
  for (std::size_t i = 0; i < real_monitor.metrics.size(); ++i) {
    EXPECT_EQ(real_monitor.metrics[i].samples, simulated_monitor.metrics[i].samples);
    EXPECT_EQ(real_monitor.metrics[i].loss, simulated_monitor.metrics[i].loss);
    EXPECT_EQ(real_monitor.metrics[i].train_loss, simulated_monitor.metrics[i].train_loss);
  }
  ASSERT_EQ(real.workers.size(), 3U);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(real.workers[rank].samples, simulated.workers[rank].samples);
    EXPECT_EQ(real.workers[rank].steps, simulated.workers[rank].steps);
    EXPECT_EQ(real.workers[rank].bytes_sent, simulated.workers[rank].bytes_sent);
    EXPECT_TRUE(real.workers[rank].pace_missed.has_value());
  }
}

// With real clocks, and times reported by the workers.
TEST(Coordinator, TheRecordOfARealRunAddsUp) {
  const Job job = toy_job(
      {"cluster.unit=1e-4", "strategy.sync=partial_reduce", "strategy.partial_reduce.group=2"});
  RecordingMonitor monitor(job);
  const RunOutcome outcome = train_toy(job, monitor);
  monitor.finish(outcome);
  EXPECT_EQ(monitor.begun, 1);
  for (const WorkerPace& recorded : monitor.record.paces()) {
    const WorkerSummary& worker = outcome.workers[static_cast<std::size_t>(recorded.rank)];
    EXPECT_NEAR(recorded.seconds(), outcome.seconds, 0.01 * outcome.seconds);
    EXPECT_NEAR(recorded.compute, worker.compute_seconds, 0.01 * outcome.seconds);
    EXPECT_NEAR(recorded.wait, worker.wait_seconds, 0.01 * outcome.seconds);
    EXPECT_EQ(recorded.steps, worker.steps);
    EXPECT_NEAR(recorded.samples, static_cast<double>(worker.samples), 1e-6);
  }
  EXPECT_EQ(monitor.record.evaluations().size(), monitor.record.metrics().size());
  EXPECT_GT(monitor.record.decisions().size(), 0U);
  expect_arrows_forward(monitor.record, 0);
}

// The workers' clock is 5,000 s ahead, as it might be on another machine.
TEST(Coordinator, ClocksAreAlignedToTheCoordinators) {
  const std::vector<std::string> elsewhere = {
      "/usr/bin/unshare", "--time", "--monotonic", "5000", "--fork", "--kill-child"};
  if (std::system("unshare --time --monotonic 5000 --fork true 2>/dev/null") != 0) {
    GTEST_SKIP() << "no permission to create a time namespace";
  }
  const Job job = toy_job();
  RecordingMonitor monitor(job);
  std::vector<std::string> command = elsewhere;
  command.insert(command.end(), {std::filesystem::read_symlink("/proc/self/exe"), "worker"});
  const RunOutcome outcome =
      train_with_processes(job, *toy_task(job), monitor, {command, to_toml(job_schema(), job)});
  monitor.finish(outcome);
  EXPECT_LT(outcome.seconds, 1'000);
  for (const WorkerPace& recorded : monitor.record.paces()) {
    EXPECT_NEAR(recorded.seconds(), outcome.seconds, 0.01 * outcome.seconds);
  }
  expect_arrows_forward(monitor.record, 0.001);
}

TEST(Coordinator, AWorkerThatCannotLoadIsTheReason) {
  const std::string reason = failure_of(toy_job({"name=unloadable"}));
  EXPECT_NE(reason.find("failed: the data is not there"), std::string::npos) << reason;
}

TEST(Coordinator, AWorkerThatCannotLoadForLackOfMemoryIsTheReason) {
  const std::string reason = failure_of(toy_job({"name=hungry"}));
  EXPECT_NE(reason.find("failed: out of memory"), std::string::npos) << reason;
}

TEST(Coordinator, AWorkerWithStepsLongerThanTheHeartbeatIsThere) {
  QuietMonitor monitor;
  const RunOutcome outcome = train_toy(
      toy_job({"cluster.workers=2", "cluster.heartbeat=2", "cluster.unit=0.1", "train.steps=1"}),
      monitor);
  EXPECT_EQ(outcome.samples, 50);
  EXPECT_GT(outcome.seconds, 2.4);
  EXPECT_EQ(outcome.terms, 1);
}

TEST(Coordinator, AWorkerThatIsKilledIsTheReason) {
  const std::string reason = failure_of(toy_job({"name=deadly"}));
  EXPECT_NE(reason.find("was killed by signal 9 (Killed)"), std::string::npos) << reason;
}

TEST(Coordinator, AServerThatIsKilledIsTheReason) {
  const std::string reason =
      failure_of(toy_job({"name=deadly server", "strategy.sync=ps_bsp", "strategy.ps.servers=1"}));
  EXPECT_TRUE(reason.starts_with("server 0 (pid ")) << reason;
  EXPECT_NE(reason.find("was killed by signal 9 (Killed)"), std::string::npos) << reason;
}

TEST(Coordinator, AProgramThatIsNotThereIsTheReason) {
  const Job job = toy_job();
  QuietMonitor monitor;
  try {
    train_with_processes(job, *toy_task(job), monitor,
                         {{"/no/such/program"}, to_toml(job_schema(), job)});
    FAIL();
  } catch (const RunFailed& failed) {
    EXPECT_NE(std::string(failed.what()).find("exited with code 127"), std::string::npos);
  }
}

TEST(Coordinator, AServiceThatReturnsEarlyIsADeadlock) {
  const std::string reason = failure_of(toy_job({"strategy.sync=returns_early"}));
  EXPECT_TRUE(reason.starts_with("the method \"returns_early\" cannot continue: deadlock at "))
      << reason;
  EXPECT_NE(reason.find(": its service has returned; worker "), std::string::npos) << reason;
  EXPECT_TRUE(
      reason.ends_with(" waits for channel 16 from the coordinator; 2 of 3 processes are done"))
      << reason;
}

TEST(Coordinator, AServiceThatNeverReturnsIsADeadlock) {
  const std::string reason = failure_of(toy_job({"strategy.sync=never_returns"}));
  EXPECT_TRUE(reason.starts_with("the method \"never_returns\" cannot continue: deadlock at "))
      << reason;
  EXPECT_TRUE(
      reason.ends_with(": its service waits for channel 16 from anyone; 3 of 3 processes are done"))
      << reason;
}

TEST(Coordinator, StopsInOrderWhenAsked) {
  QuietMonitor monitor;
  monitor.stop_after_samples = 1;
  const RunOutcome outcome =
      train_toy(toy_job({"train.steps=1000000", "cluster.unit=1e-4"}), monitor);
  EXPECT_EQ(outcome.stopped, "SIGINT");
  EXPECT_GT(outcome.samples, 0);
  for (const WorkerSummary& worker : outcome.workers) {
    EXPECT_EQ(worker.steps, outcome.workers.front().steps);
  }
}

TEST(Coordinator, EndsWhenTheTargetIsReached) {
  QuietMonitor monitor;
  const RunOutcome outcome =
      train_toy(toy_job({"train.steps=1000000", "train.eval_every=1", "train.target_accuracy=0.9",
                         "data.features=5", "cluster.unit=1e-4"}),
                monitor);
  EXPECT_EQ(outcome.stopped, "target");
}

// Which workers meet depends on timing; the number of samples and, roughly, the loss do not.
// `tolerance`: how much the loss may differ from that of all_reduce after as many samples.
RunOutcome train_at_own_pace(std::vector<std::string> settings, double tolerance) {
  // With only 100 samples, each used fifteen times, Hop's loss would exceed the tolerances.
  const std::vector<std::string> data{"data.features=2000", "data.samples=500"};
  // Paced, so that no worker is done before the others have begun, however busy the machine is.
  settings.insert(settings.end(), {"train.eval_every=5", "cluster.unit=5e-4"});
  settings.insert(settings.end(), data.begin(), data.end());
  const Job job = toy_job(settings);
  QuietMonitor monitor;
  RunOutcome outcome = train_toy(job, monitor);
  EXPECT_EQ(outcome.samples, 1'500);
  std::int64_t samples = 0;
  for (const WorkerSummary& worker : outcome.workers) {
    samples += worker.samples;
  }
  EXPECT_EQ(samples, 1'500);
  QuietMonitor simulated;
  simulate(toy_job(data), *toy_task(job), simulated);
  EXPECT_GT(monitor.metrics.size(), 2U);
  EXPECT_NEAR(monitor.metrics.back().loss / simulated.metrics.back().loss, 1, tolerance);
  EXPECT_EQ(monitor.metrics.back().samples, 1'500);
  return outcome;
}

TEST(Coordinator, PartialReduceInRealProcesses) {
  const RunOutcome outcome = train_at_own_pace({"strategy.sync=partial_reduce"}, 0.05);
  std::int64_t steps = 0;
  for (const WorkerSummary& worker : outcome.workers) {
    steps += worker.steps;
  }
  EXPECT_NEAR(*figure(outcome, "groups"), static_cast<double>(steps - 3) / 2, 1);
}

TEST(Coordinator, HopInRealProcesses) {
  for (const char* mode : {"standard", "backup", "staleness", "notify_ack"}) {
    const std::vector<std::string> settings{"strategy.sync=hop", "strategy.hop.max_gap=3",
                                            fmt::format("strategy.hop.mode={}", mode)};
    // Averaging with stale models slows learning, hence the larger tolerance.
    const RunOutcome outcome = train_at_own_pace(settings, 0.2);
    EXPECT_LE(*figure(outcome, "largest_token_queue"), 6) << mode;
    EXPECT_LE(outcome.service.max_iteration_gap, 3) << mode;
  }
}

TEST(Coordinator, AdPsgdInRealProcesses) {
  const RunOutcome outcome = train_at_own_pace({"strategy.sync=ad_psgd"}, 0.1);
  EXPECT_EQ(*figure(outcome, "exchanges"),
            static_cast<double>(outcome.workers[0].steps + outcome.workers[2].steps));
}

// Servers in processes of their own compute the same sums as simulated ones.
TEST(Coordinator, ServersInRealProcessesEqualSimulatedOnes) {
  const Job job = toy_job({"strategy.sync=ps_bsp", "strategy.ps.servers=2", "data.features=2000"});
  QuietMonitor monitor;
  const RunOutcome real = train_toy(job, monitor);
  const RunOutcome simulated = simulate(job, *toy_task(job), monitor);
  EXPECT_EQ(real.model.parameters, simulated.model.parameters);
  ASSERT_EQ(real.servers.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(real.servers[i].rank, 3 + static_cast<Rank>(i));
    EXPECT_EQ(real.servers[i].bytes_sent, simulated.servers[i].bytes_sent);
  }
}

TEST(Coordinator, MethodsWithServersInRealProcesses) {
  for (const char* sync : {"ps_asp", "ps_ssp", "adsp", "ashl"}) {
    SCOPED_TRACE(sync);
    const RunOutcome outcome =
        train_at_own_pace({fmt::format("strategy.sync={}", sync), "strategy.ps.servers=2",
                           "strategy.codec=none", "strategy.adsp.period=0.001"},
                          0.3);
    EXPECT_EQ(outcome.servers.size(), 2U);
  }
  // Times are relative to the start of the run, not of the process that reports them.
  QuietMonitor monitor;
  const RunOutcome outcome = train_toy(
      toy_job({"strategy.sync=ashl", "strategy.ashl.loss_preset=1e9", "data.features=2000"}),
      monitor);
  EXPECT_LE(figure(outcome, "switch_seconds").value_or(1e9), outcome.seconds);
}

// Two workers are ten times as fast as the third, so the server has to hold them back.
TEST(Coordinator, WhatAServerDecidesIsInTheRecord) {
  const Job job = toy_job({"strategy.sync=ps_ssp", "strategy.ps.staleness=1", "cluster.unit=1e-3",
                           "cluster.speeds=[1.0, 1.0, 0.1]", "data.features=100"});
  RecordingMonitor monitor(job);
  monitor.finish(train_toy(job, monitor));
  std::set<std::string> held;
  monitor.record.decisions().for_each([&](const RunRecord::Decided& decided) {
    if (decided.who == kFirstServer && decided.decision.kind == "held") {
      EXPECT_NE(decided.decision.reason.find("ahead of worker"), std::string::npos);
      held.insert(decided.decision.what);
    }
  });
  EXPECT_TRUE(held.contains("worker 0's commits wait"));
  EXPECT_TRUE(held.contains("worker 1's commits wait"));
}

TEST(Coordinator, MethodsAtTheirOwnPaceStopInOrderWhenAsked) {
  for (const char* sync : {"partial_reduce", "hop", "ad_psgd", "ps_ssp", "adsp", "ashl"}) {
    QuietMonitor monitor;
    monitor.stop_after_samples = 1;
    const RunOutcome outcome =
        train_toy(toy_job({fmt::format("strategy.sync={}", sync), "train.steps=1000000",
                           "cluster.unit=1e-4", "data.features=100"}),
                  monitor);
    EXPECT_EQ(outcome.stopped, "SIGINT") << sync;
    EXPECT_GT(outcome.samples, 0) << sync;
    EXPECT_LT(outcome.samples, 1'000'000) << sync;
  }
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) {
  motley::register_method(motley::kReturnsEarly);
  motley::register_method(motley::kNeverReturns);
  return motley::toy_main(argc, argv);
}
