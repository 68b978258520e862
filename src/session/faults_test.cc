// Real runs in which the job itself makes workers and servers die, leave, join and freeze.
// Coordinator and workers are real processes, without torch.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/relative_difference.h"
#include "tests/toy_processes.h"

namespace motley::faults_test {
namespace {

class FaultMonitor final : public RunMonitor {
 public:
  void on_progress(const RunProgress&) override {}
  void on_metric(const Metric&) override {}
  void on_news(RecordPlace rank, const WorkerNews& news) override {
    for (const DecisionRecord& decision : news.entries.decisions) {
      if (rank == kCoordinator && decision.kind == "members") {
        decisions += decision.what + " (" + decision.reason + ")\n";
      }
    }
  }
  bool wants_checkpoints() override { return true; }
  void on_checkpoint(std::int64_t samples, State state) override {
    state.values = nlohmann::json::parse(state.values.dump());  // as on disk
    checkpoints.emplace(samples, std::make_shared<const State>(std::move(state)));
  }
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  bool decided(const std::string& text) const { return decisions.find(text) != std::string::npos; }

  std::string decisions;
  std::map<std::int64_t, std::shared_ptr<const State>> checkpoints;  // by samples
};

// 100 steps of some 10 ms. Whoever is lost is not started again.
Job job_with(const std::string& events, std::vector<std::string> settings = {}) {
  settings.insert(settings.begin(), {"cluster.workers=4", "cluster.unit=8e-4", "train.steps=100",
                                     "data.features=200", "cluster.respawn=0", "train.eval_every=0",
                                     "train.checkpoint_every=0", "cluster.event=[" + events + "]"});
  return toy_job(settings);
}

std::vector<int> workers_at_end(const RunOutcome& outcome) {
  std::vector<int> ids;
  for (const WorkerSummary& worker : outcome.workers) {
    ids.push_back(worker.rank);
  }
  return ids;
}

// All stays of a worker, or of a server.
std::vector<MemberRecord> stays_of(ProcessId process, const RunOutcome& outcome) {
  std::vector<MemberRecord> stays;
  std::ranges::copy_if(outcome.members, std::back_inserter(stays),
                       [&](const MemberRecord& each) { return each.process == process; });
  return stays;
}

constexpr ProcessId kWorker1{ProcessKind::kWorker, 1};
const std::vector<int> kWithout1 = {0, 2, 3};
const std::vector<int> kAllFour = {0, 1, 2, 3};

TEST(RealFaults, AWorkerDies) {
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(job_with("{at = 0.2, kind = 'dies', worker = 1}"), monitor);
  EXPECT_EQ(outcome.samples, 5'000);
  EXPECT_EQ(workers_at_end(outcome), kWithout1);
  const auto stays = stays_of(kWorker1, outcome);
  ASSERT_EQ(stays.size(), 1U);
  EXPECT_GE(stays[0].left, 0.2);
  EXPECT_EQ(stays[0].why, "was killed as planned for 0.2 s");
  EXPECT_TRUE(monitor.decided("goes on without worker 1")) << monitor.decisions;
}

TEST(RealFaults, AWorkerDiesAndIsStartedAgainLikeAnyOther) {
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(
      job_with("{at = 0.2, kind = 'dies', worker = 1}", {"cluster.respawn=1", "train.steps=200"}),
      monitor);
  EXPECT_EQ(outcome.samples, 10'000);
  EXPECT_EQ(workers_at_end(outcome), kAllFour);
  EXPECT_EQ(stays_of(kWorker1, outcome).size(), 2U);
  // The rate that could have been is of those who were there.
  EXPECT_LT(*outcome.ideal_samples_per_second, 4 / 8e-4);
  EXPECT_GT(*outcome.ideal_samples_per_second, 3 / 8e-4);
}

// A real loss of a worker twice at the same step would be taken for a failure of the program.
TEST(RealFaults, AWorkerMayDieTwiceInAStep) {
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(
      job_with("{at = 0.1, kind = 'dies', worker = 1}, {at = 0.8, kind = 'dies', worker = 1}",
               {"cluster.respawn=2", "cluster.min_workers=4", "cluster.unit=0.1", "train.steps=2"}),
      monitor);
  EXPECT_EQ(outcome.samples, 100);
  EXPECT_EQ(workers_at_end(outcome), kAllFour);
  EXPECT_EQ(stays_of(kWorker1, outcome).size(), 3U) << monitor.decisions;
}

TEST(RealFaults, AWorkerLeavesInOrder) {
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(
      job_with("{at = 0.2, kind = 'leaves', worker = 1}", {"cluster.respawn=3"}), monitor);
  EXPECT_EQ(outcome.samples, 5'000);
  EXPECT_EQ(workers_at_end(outcome), kWithout1);
  EXPECT_EQ(stays_of(kWorker1, outcome).at(0).why, "left");
  EXPECT_EQ(outcome.losses.samples_redealt, 0);
}

TEST(RealFaults, WorkersJoin) {
  FaultMonitor monitor;
  const RunOutcome outcome =
      train_toy(job_with("{at = 0.1, kind = 'joins', worker = 9}, {at = 0.2, kind = 'dies', worker "
                         "= 1}, {at = 0.2, kind = 'joins', worker = 1}",
                         {"train.steps=200"}),
                monitor);
  EXPECT_EQ(outcome.samples, 10'000);
  EXPECT_EQ(workers_at_end(outcome), (std::vector<int>{0, 1, 2, 3, 9})) << monitor.decisions;
  EXPECT_EQ(stays_of(kWorker1, outcome).size(), 2U);
  EXPECT_GT(stays_of({ProcessKind::kWorker, 9}, outcome).at(0).joined, 0.1);
}

TEST(RealFaults, AShortFreezeIsOnlySlow) {
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(
      job_with("{at = 0.2, kind = 'freezes', worker = 1, seconds = 0.5}", {"train.steps=40"}),
      monitor);
  EXPECT_EQ(outcome.samples, 2'000);
  EXPECT_EQ(outcome.terms, 1) << monitor.decisions;
  EXPECT_GT(outcome.seconds, 0.7);
  EXPECT_TRUE(monitor.decided("is frozen (as planned for 0.2 s)")) << monitor.decisions;
  EXPECT_TRUE(monitor.decided("thaws (as planned for 0.7 s)")) << monitor.decisions;
}

TEST(RealFaults, WhoIsFrozenLongerThanTheHeartbeatIsLostAndComesBack) {
  FaultMonitor monitor;
  const RunOutcome outcome =
      train_toy(job_with("{at = 0.1, kind = 'freezes', worker = 1, seconds = 3.5}",
                         {"cluster.heartbeat=2", "train.steps=200"}),
                monitor);
  EXPECT_EQ(outcome.samples, 10'000);
  EXPECT_EQ(workers_at_end(outcome), kAllFour);
  const auto stays = stays_of(kWorker1, outcome);
  ASSERT_EQ(stays.size(), 2U) << monitor.decisions;
  EXPECT_EQ(stays[0].why, "gave no sign of life for 2 s");
  EXPECT_GE(stays[1].joined, 3.6) << "not before it would have thawed";
}

TEST(RealFaults, AServerDies) {
  FaultMonitor monitor;
  const RunOutcome outcome =
      train_toy(job_with("{at = 0.2, kind = 'dies', server = 1}",
                         {"strategy.sync=ps_asp", "strategy.ps.servers=2", "cluster.respawn=1"}),
                monitor);
  EXPECT_EQ(outcome.samples, 5'000);
  EXPECT_EQ(outcome.servers.size(), 2U);
  EXPECT_EQ(stays_of({ProcessKind::kServer, 1}, outcome).size(), 2U) << monitor.decisions;
}

TEST(RealFaults, ChurnKillsAndBringsBack) {
  FaultMonitor none;
  const RunOutcome whole = train_toy(job_with("", {"train.steps=250"}), none);
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(job_with("", {"train.steps=250", "cluster.respawn=3",
                                                     "cluster.churn={mtbf=6,mttr=0.3,seed=7}"}),
                                       monitor);
  EXPECT_EQ(outcome.samples, 12'500);
  EXPECT_GT(outcome.members.size(), 5U) << monitor.decisions;
  EXPECT_FALSE(monitor.decided("is started again")) << "churn says when";
  EXPECT_TRUE(monitor.decided("is started (as planned for")) << monitor.decisions;
  EXPECT_LT(relative_difference(outcome.model.parameters, whole.model.parameters), 1e-6);
}

TEST(RealFaults, ARunThatIsNotElasticEnds) {
  FaultMonitor monitor;
  try {
    train_toy(job_with("{at = 0.2, kind = 'dies', worker = 1}", {"cluster.elastic=false"}),
              monitor);
    FAIL();
  } catch (const RunFailed& failed) {
    const std::string why = failed.what();
    EXPECT_EQ(why.find("worker 1 (pid "), 0U) << why;
    EXPECT_NE(why.find("was killed as planned for 0.2 s"), std::string::npos) << why;
  }
}

// Worker 1 is gone and worker 6 has come when the checkpoint is written. The run that goes on has
// both, and neither dies nor joins again.
TEST(RealFaults, ARunThatGoesOnDoesNotRepeatThem) {
  const Job job = job_with(
      "{at = 0.1, kind = 'dies', worker = 1}, {at = 0.1, kind = 'joins', worker = 6}, "
      "{at = 1000, kind = 'dies', worker = 0}",
      {"train.checkpoint_every=50", "train.steps=150"});
  FaultMonitor first;
  const RunOutcome whole = train_toy(job, first);
  EXPECT_EQ(workers_at_end(whole), (std::vector<int>{0, 2, 3, 6}));
  ASSERT_TRUE(first.checkpoints.contains(5'000)) << first.decisions;
  FaultMonitor monitor;
  const RunOutcome outcome = train_toy(job, monitor, first.checkpoints.at(5'000));
  EXPECT_EQ(outcome.samples, 7'500);
  EXPECT_EQ(workers_at_end(outcome), (std::vector<int>{0, 1, 2, 3, 6})) << monitor.decisions;
  EXPECT_FALSE(monitor.decided("was killed")) << monitor.decisions;
  EXPECT_LT(relative_difference(outcome.model.parameters, whole.model.parameters), 1e-6);
}

}  // namespace
}  // namespace motley::faults_test

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
