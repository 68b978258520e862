// Real runs are sequences of terms: a checkpoint at the end of each, and a run that goes on from
// any of them. Coordinator and workers are real processes, without torch.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "motley/sync/method.h"
#include "runtime/simulate/simulate.h"
#include "tests/toy_processes.h"

namespace motley {
namespace {

struct KeptCheckpoint {
  std::int64_t samples = 0;
  std::shared_ptr<const State> state;
};

class CheckpointKeeper final : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override { samples_ = progress.samples; }
  void on_metric(const Metric& metric) override { metrics.push_back(metric); }
  bool wants_checkpoints() override { return true; }
  // As a checkpoint on disk: its values are text.
  void on_checkpoint(std::int64_t samples, State state) override {
    state.values = nlohmann::json::parse(state.values.dump());
    checkpoints.push_back({samples, std::make_shared<const State>(std::move(state))});
  }
  std::optional<std::string> stop_requested() override {
    return samples_ >= stop_after ? std::optional<std::string>("SIGINT") : std::nullopt;
  }
  bool abandon_requested() override { return false; }

  std::int64_t stop_after = std::numeric_limits<std::int64_t>::max();
  std::vector<Metric> metrics;
  std::vector<KeptCheckpoint> checkpoints;

 private:
  std::int64_t samples_ = 0;
};

// Steps that are long enough for the state of a term to arrive before the next one ends.
Job job_with_checkpoints(std::vector<std::string> overrides) {
  overrides.insert(overrides.end(), {"data.features=50", "train.momentum=0.5", "cluster.unit=1e-4",
                                     "train.checkpoint_every=10"});
  return toy_job(overrides);
}

// Wall time differs between runs; everything else must not.
void expect_same_learning(const std::vector<Metric>& whole, const std::vector<Metric>& part) {
  ASSERT_LE(part.size(), whole.size());
  const std::size_t skipped = whole.size() - part.size();
  for (std::size_t i = 0; i < part.size(); ++i) {
    EXPECT_EQ(part[i].samples, whole[skipped + i].samples);
    EXPECT_EQ(part[i].loss, whole[skipped + i].loss);
    EXPECT_EQ(part[i].train_loss, whole[skipped + i].train_loss);
  }
}

// Samples processed by all workers.
std::int64_t processed(const RunOutcome& outcome) {
  std::int64_t samples = 0;
  for (const WorkerSummary& worker : outcome.workers) {
    samples += worker.samples;
  }
  return samples;
}

TEST(Terms, AllReduceGoesOnBitByBit) {
  const Job job = job_with_checkpoints({});
  CheckpointKeeper keeper;
  const RunOutcome whole = train_toy(job, keeper);
  ASSERT_EQ(keeper.checkpoints.size(), 3U);
  EXPECT_EQ(keeper.checkpoints[0].samples, 500);
  EXPECT_EQ(keeper.checkpoints[2].samples, 1'500);
  for (std::size_t i = 0; i < 2; ++i) {
    CheckpointKeeper later;
    const RunOutcome resumed = train_toy(job, later, keeper.checkpoints[i].state);
    EXPECT_EQ(resumed.model.parameters, whole.model.parameters);
    EXPECT_EQ(later.metrics.size(), 2 - i);
    expect_same_learning(keeper.metrics, later.metrics);
    EXPECT_EQ(resumed.samples, whole.samples);
    EXPECT_EQ(processed(resumed), processed(whole));
    EXPECT_GT(resumed.seconds, 0);
  }
}

TEST(Terms, CheckpointsDoNotChangeARunInLockStep) {
  Job job = job_with_checkpoints({});
  CheckpointKeeper keeper;
  const RunOutcome with = train_toy(job, keeper);
  job.train.checkpoint_every = 0;
  CheckpointKeeper none;
  const RunOutcome without = train_toy(job, none);
  EXPECT_EQ(with.model.parameters, without.model.parameters);
  EXPECT_EQ(none.checkpoints.size(), 1U) << "the one at the end";
}

// A real run and a simulated one write the same layout: either goes on from the other's.
TEST(Terms, ARealRunGoesOnFromASimulatedOne) {
  const Job job = job_with_checkpoints({});
  CheckpointKeeper simulated;
  const RunOutcome whole = simulate(job, *toy_task(job), simulated);
  ASSERT_GE(simulated.checkpoints.size(), 2U);
  CheckpointKeeper real;
  const RunOutcome resumed = train_toy(job, real, simulated.checkpoints[0].state);
  EXPECT_EQ(resumed.model.parameters, whole.model.parameters);
  CheckpointKeeper again;
  const RunOutcome back = simulate(job, *toy_task(job), again, real.checkpoints[0].state.get());
  EXPECT_EQ(back.model.parameters, whole.model.parameters);
}

class EveryMethod : public testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, GoesOnFromEachOfItsCheckpoints) {
  const Job job = job_with_checkpoints({"strategy.sync=" + GetParam()});
  CheckpointKeeper keeper;
  const RunOutcome whole = train_toy(job, keeper);
  ASSERT_GE(keeper.checkpoints.size(), 2U);
  EXPECT_EQ(processed(whole), 1'500);
  for (std::size_t i = 0; i + 1 < keeper.checkpoints.size(); ++i) {
    CheckpointKeeper later;
    const RunOutcome resumed = train_toy(job, later, keeper.checkpoints[i].state);
    EXPECT_EQ(processed(resumed), 1'500) << "from checkpoint " << i;
    ASSERT_FALSE(later.metrics.empty());
    EXPECT_GE(later.metrics.front().samples, keeper.checkpoints[i].samples);
    EXPECT_EQ(later.checkpoints.back().samples, resumed.samples);
  }
}

TEST_P(EveryMethod, GoesOnWithFewerOrMoreWorkers) {
  CheckpointKeeper keeper;
  train_toy(job_with_checkpoints({"strategy.sync=" + GetParam()}), keeper);
  ASSERT_GE(keeper.checkpoints.size(), 2U);
  for (const char* workers : {"cluster.workers=2", "cluster.workers=5"}) {
    const Job other = job_with_checkpoints({"strategy.sync=" + GetParam(), workers});
    CheckpointKeeper later;
    const RunOutcome resumed = train_toy(other, later, keeper.checkpoints[0].state);
    EXPECT_EQ(resumed.samples, 1'500) << workers;
    std::int64_t before = 0;
    for (const WorkerSummary& worker : resumed.former_workers) {
      before += worker.samples;
    }
    EXPECT_EQ(before + processed(resumed), 1'500) << workers;
  }
}

TEST_P(EveryMethod, LeavesACheckpointWhenItIsStopped) {
  Job job = job_with_checkpoints({"strategy.sync=" + GetParam(), "train.steps=400"});
  job.train.checkpoint_every = 0;
  CheckpointKeeper keeper;
  keeper.stop_after = 200;
  const RunOutcome stopped = train_toy(job, keeper);
  EXPECT_EQ(stopped.stopped, "SIGINT");
  ASSERT_EQ(keeper.checkpoints.size(), 1U);
  ASSERT_LT(stopped.samples, 20'000);
  CheckpointKeeper later;
  const RunOutcome resumed = train_toy(job, later, keeper.checkpoints[0].state);
  EXPECT_EQ(resumed.stopped, std::nullopt);
  EXPECT_EQ(processed(resumed), 20'000);
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const Method* method : methods()) {
    names.emplace_back(method->name());
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Terms, EveryMethod, testing::ValuesIn(method_names()),
                         [](const auto& param) { return param.param; });

TEST(Terms, AStateOfAnotherMethodOrNumberOfWorkersIsFitted) {
  const Job hop = job_with_checkpoints({"strategy.sync=hop"});
  CheckpointKeeper keeper;
  train_toy(hop, keeper);
  const Job ring = job_with_checkpoints({"cluster.workers=2"});
  CheckpointKeeper later;
  const RunOutcome outcome = train_toy(ring, later, keeper.checkpoints[0].state);
  EXPECT_EQ(outcome.samples, 1'500);
}

}  // namespace
}  // namespace motley

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
