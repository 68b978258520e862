// Workers that join a real run while it goes on. Coordinator and workers are real processes,
// without torch.
#include <gtest/gtest.h>

#include <algorithm>

#include "motley/base/failure.h"
#include "motley/sync/method.h"
#include "tests/open_run.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"

namespace motley::joining_test {
namespace {

std::vector<int> ids_of(const RunOutcome& outcome) {
  std::vector<int> ids;
  std::ranges::transform(outcome.workers, std::back_inserter(ids), &WorkerSummary::rank);
  return ids;
}

class EveryMethodLetsIn : public testing::TestWithParam<std::string> {};

TEST_P(EveryMethodLetsIn, AWorkerThatComesWhileTheRunGoesOn) {
  OpenRun run(open_job({"strategy.sync=" + GetParam(), "strategy.adsp.period=0.01"}));
  run.then(500, [&] { run.start(); });
  run.once([&] { return run.decided("worker 4 (pid") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3, 4})) << run.decisions();
  EXPECT_GT(outcome.workers.back().steps, 0);
  EXPECT_GT(outcome.workers.back().samples, 0);
  ASSERT_GE(outcome.members.size(), 5U);  // servers follow
  EXPECT_EQ(outcome.members[4].process.id, 4);
  EXPECT_EQ(outcome.members[4].why, "joined");
  EXPECT_GT(outcome.members[4].joined, 0);
  EXPECT_EQ(outcome.losses.samples_redealt, 0);
  EXPECT_EQ(outcome.losses.updates_lost, 0);
  const RunRecord::Worker& recorded = run.record().worker(4);
  ASSERT_GT(recorded.spans.size(), 0U);
  recorded.spans.for_each([&](const Span& span) { EXPECT_GE(span.begin, recorded.joined); });
}

std::vector<std::string> names_of_methods() {
  std::vector<std::string> names;
  for (const Method* method : methods()) {
    names.emplace_back(method->name());
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Joining, EveryMethodLetsIn, testing::ValuesIn(names_of_methods()),
                         [](const auto& param) { return param.param; });

class JoinersInLockStep : public testing::TestWithParam<std::string> {};

// Who takes part makes no difference to what is learnt.
TEST_P(JoinersInLockStep, ARunThatWorkersJoinLearnsTheSame) {
  const std::string method = "strategy.sync=" + GetParam();
  OpenRun run(open_job({method}));
  run.then(500, [&] { run.start(); });
  run.once([&] { return run.decided("worker 4 (pid") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  const std::int64_t steps = outcome.samples / 50;
  QuietMonitor monitor;
  const RunOutcome whole = train_toy(
      open_job({method, fmt::format("train.steps={}", steps), "cluster.unit=1e-5"}), monitor);
  EXPECT_EQ(outcome.samples, whole.samples);
  EXPECT_LT(relative_difference(outcome.model.parameters, whole.model.parameters), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Joining, JoinersInLockStep, testing::Values("all_reduce", "ps_bsp"),
                         [](const auto& param) { return param.param; });

TEST(Joining, ANewcomerHasTheLowestIdThatIsFree) {
  OpenRun run(open_job());
  run.then(500, [&] { run.kill_worker(1); });
  run.once([&] { return run.decided("goes on without worker 1") == 1; }, [&] { run.start(); });
  run.once([&] { return run.decided(" joins") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3}));
  ASSERT_GE(outcome.members.size(), 5U);  // servers follow
  EXPECT_EQ(outcome.members[4].process.id, 1);
  EXPECT_EQ(outcome.members[4].left, std::nullopt);
  ASSERT_GE(run.terms().size(), 3U);
  EXPECT_EQ(run.terms()[0].cause, TermCause::kStart);
  EXPECT_EQ(run.terms()[1].cause, TermCause::kLoss);
  EXPECT_NE(run.terms()[1].reason.find("goes on without worker 1: "), std::string::npos);
  EXPECT_TRUE(run.terms()[1].reason.starts_with("worker 1 (pid ")) << run.terms()[1].reason;
  EXPECT_EQ(run.terms()[2].cause, TermCause::kNewcomer);
  EXPECT_NE(run.terms()[2].reason.find(" joins"), std::string::npos);
}

TEST(Joining, TwoAtOnce) {
  OpenRun run(open_job());
  run.then(500, [&] {
    run.start();
    run.start();
  });
  run.once([&] { return run.decided(" joins") == 2; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_GT(outcome.workers[5].steps, 0);
}

// Steps are so long that both die in the same one: that is not one worker that dies twice.
TEST(Joining, TwoThatDieWhileTheyJoinDisturbNobody) {
  OpenRun run(open_job({"cluster.unit=0.02"}));
  run.then(50, [&] {
    run.start({}, "dies");
    run.start({}, "dies");
  });
  run.once([&] { return run.decided("a newcomer (pid") == 2; }, [&] { run.start(); });
  run.once([&] { return run.decided("worker 4 (pid") == 1; }, [] {});
  const RunOutcome outcome = run.conduct(100);
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(outcome.members.size(), 5U);
  EXPECT_EQ(outcome.terms, 2);
}

TEST(Joining, OneWithOtherDataIsRefusedAndTheRunGoesOn) {
  OpenRun run(open_job());
  Process* stranger = nullptr;
  run.then(500, [&] { stranger = &run.start({}, "other data"); });
  run.once([&] { return run.decided("may not join") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  const Finished refused = stranger->wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.err,
            "the run failed: refused by the coordinator: this worker has 101 training samples, "
            "expected 100\n");
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(outcome.terms, 1);
}

TEST(Joining, OneForWhomThereIsNoWorkIsRefused) {
  OpenRun run(open_job({"train.batch=4", "cluster.unit=0.01"}));
  Process* fifth = nullptr;
  run.then(40, [&] { fifth = &run.start(); });
  run.once([&] { return run.decided("may not join") == 1; }, [] {});
  const RunOutcome outcome = run.conduct(40);
  const Finished refused = fifth->wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(
      refused.err,
      "the run failed: refused by the coordinator: train.batch is 4, which is too few samples "
      "for 5 workers\n");
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3}));
}

TEST(Joining, ARunThatIsNotElasticLetsNobodyIn) {
  OpenRun run(open_job({"cluster.elastic=false"}));
  Process* late = nullptr;
  run.then(500, [&] { late = &run.start(); });
  run.once([&] { return !is_running(late->pid()); }, [] {});
  const RunOutcome outcome = run.conduct();
  const Finished refused = late->wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("no rank is left for a worker (pid"), std::string::npos)
      << refused.err;
  EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1);
  EXPECT_EQ(ids_of(outcome), (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace motley::joining_test

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
