// Workers that are told to leave a real run (SIGTERM, as a notice that their machine is taken
// away). Coordinator, workers and servers are real processes, without torch.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "motley/base/failure.h"
#include "motley/sync/method.h"
#include "tests/open_run.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"

namespace motley::leaving_test {
namespace {

constexpr int kTerminated = 128 + SIGTERM;

bool lost_nothing(const RunOutcome& outcome) {
  const Losses& losses = outcome.losses;
  return losses.samples_redealt == 0 && losses.samples_repeated == 0 && losses.updates_lost == 0;
}

// Whether a signal would end it: it has caught one already.
bool is_ended_by(pid_t pid, int number) {
  const std::string status = read_file(fmt::format("/proc/{}/status", pid));
  const auto line = status.find("SigCgt:");
  const auto caught = std::stoull(status.substr(line + 7), nullptr, 16);
  return (caught >> (number - 1) & 1) == 0;
}

// All workers are started by the test, so that it learns their exit codes.
class Crew {
 public:
  explicit Crew(OpenRun& run) : run_(run) {
    for (int i = 0; i < 4; ++i) {
      workers.push_back(&run.start());
    }
  }
  void tell_to_leave(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      workers[i]->signal(SIGTERM);
    }
  }
  std::vector<int> exit_codes() {
    std::vector<int> codes;
    std::ranges::transform(workers, std::back_inserter(codes),
                           [](Process* worker) { return worker->wait().code; });
    return codes;
  }
  // The members that have left, as the outcome says.
  static std::vector<const MemberRecord*> gone_from(const RunOutcome& outcome) {
    std::vector<const MemberRecord*> gone;
    for (const MemberRecord& member : outcome.members) {
      if (member.left) {
        gone.push_back(&member);
      }
    }
    return gone;
  }

  std::vector<Process*> workers;

 private:
  OpenRun& run_;
};

std::vector<std::string> names_of_methods() {
  std::vector<std::string> names;
  for (const Method* method : methods()) {
    names.emplace_back(method->name());
  }
  return names;
}

class EveryMethodLetsGo : public testing::TestWithParam<std::string> {
 protected:
  Job job(std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"strategy.sync=" + GetParam(), "strategy.adsp.period=0.01"});
    return open_job(more);
  }
};

TEST_P(EveryMethodLetsGo, AWorkerThatIsToldToLeave) {
  OpenRun run(job(), false);
  Crew crew(run);
  run.then(500, [&] { crew.tell_to_leave(1); });
  run.once([&] { return run.decided(" leaves") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(crew.exit_codes(), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(outcome.workers.size(), 3U);
  const auto gone = Crew::gone_from(outcome);
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_EQ(gone[0]->why, "left");
  EXPECT_EQ(outcome.terms, 2);
  EXPECT_TRUE(lost_nothing(outcome));
}

// As systemd does: everybody gets the signal, `motley train` too.
TEST_P(EveryMethodLetsGo, NobodyIfTheRunIsStoppedAtOnce) {
  OpenRun run(job());
  run.saves = true;
  run.then(500, [&] {
    run.signal_all(SIGTERM);
    run.stop("SIGTERM");
  });
  const RunOutcome outcome = run.conduct_to_its_end();
  EXPECT_EQ(outcome.stopped, "SIGTERM");
  EXPECT_EQ(outcome.workers.size(), 4U);
  ASSERT_FALSE(run.checkpoints().empty());
  EXPECT_EQ(run.checkpoints().back(), outcome.samples);
}

// The same, but the workers are faster than the stop.
TEST_P(EveryMethodLetsGo, AllButOneIfTheRunIsStoppedLater) {
  OpenRun run(job());
  run.saves = true;
  run.then(500, [&] { run.signal_all(SIGTERM); });
  run.once([&] { return run.decided(" leaves") == 3; }, [&] { run.stop("SIGTERM"); });
  const RunOutcome outcome = run.conduct_to_its_end();
  EXPECT_EQ(outcome.stopped, "SIGTERM");
  EXPECT_EQ(outcome.workers.size(), 1U);
  EXPECT_TRUE(lost_nothing(outcome));
  ASSERT_FALSE(run.checkpoints().empty());
  EXPECT_EQ(run.checkpoints().back(), outcome.samples);
}

INSTANTIATE_TEST_SUITE_P(Leaving, EveryMethodLetsGo, testing::ValuesIn(names_of_methods()),
                         [](const auto& param) { return param.param; });

class LeaversInLockStep : public testing::TestWithParam<std::string> {};

// Within one step, and who takes part makes no difference to what is learnt.
TEST_P(LeaversInLockStep, ARunThatWorkersLeaveLearnsTheSame) {
  const std::string method = "strategy.sync=" + GetParam();
  OpenRun run(open_job({method, "cluster.unit=0.01"}), false);
  Crew crew(run);
  std::int64_t told = 0;
  std::int64_t left = 0;
  run.then(200, [&] {
    crew.tell_to_leave(2);
    told = run.samples();
  });
  run.once([&] { return run.decided(" leaves") == 2; }, [&] { left = run.samples(); });
  const RunOutcome outcome = run.conduct(200);
  EXPECT_LE(left - told, 2 * 50) << "the step under way, and perhaps the next one";
  QuietMonitor monitor;
  const std::string steps = fmt::format("train.steps={}", outcome.samples / 50);
  const RunOutcome whole = train_toy(open_job({method, steps, "cluster.unit=1e-5"}), monitor);
  EXPECT_EQ(outcome.samples, whole.samples);
  EXPECT_LT(relative_difference(outcome.model.parameters, whole.model.parameters), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Leaving, LeaversInLockStep, testing::Values("all_reduce", "ps_bsp"),
                         [](const auto& param) { return param.param; });

TEST(Leaving, WithTooFewWorkersTheRunSavesAndWaits) {
  OpenRun run(open_job({"cluster.min_workers=4", "cluster.rejoin_timeout=0.5"}), false);
  Crew crew(run);
  run.saves = true;
  run.then(500, [&] { crew.tell_to_leave(1); });
  EXPECT_EQ(run.why_it_failed(),
            "3 of at least 4 workers are left, and nobody has joined for 0.5 s "
            "(cluster.rejoin_timeout); go on with --resume when there are more");
  EXPECT_EQ(crew.exit_codes(), (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(run.decided("waits for workers: 3 of at least 4 are left"), 1);
  ASSERT_FALSE(run.checkpoints().empty());
  EXPECT_GE(run.checkpoints().front(), 500);
  EXPECT_EQ(run.checkpoints().front(), run.checkpoints().back());
}

TEST(Leaving, WorkersLeaveARunThatWaits) {
  OpenRun run(open_job({"cluster.min_workers=4", "strategy.sync=hop"}), false);
  Crew crew(run);
  run.then(500, [&] { crew.workers[0]->signal(SIGKILL); });
  run.once([&] { return run.decided("waits for workers") == 1; },
           [&] { crew.workers[1]->signal(SIGTERM); });
  run.once([&] { return run.decided(" leaves") == 1; },
           [&] {
             run.start();
             run.start();
           });
  run.once([&] { return run.decided(" joins") == 2; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(crew.workers[1]->wait().code, 0);
  EXPECT_EQ(outcome.workers.size(), 4U);
  EXPECT_EQ(outcome.members.size(), 6U);
}

TEST(Leaving, TheLastOneStaysUntilAnotherCanGoOn) {
  OpenRun run(open_job({"strategy.sync=ad_psgd"}), false);
  Crew crew(run);
  run.then(500, [&] { crew.tell_to_leave(4); });
  run.once([&] { return run.decided(" leaves") == 3; }, [] {});
  run.then(500, [&] { run.start(); });
  run.once([&] { return run.decided(" leaves") == 4; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(crew.exit_codes(), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(outcome.workers.size(), 1U);
  EXPECT_EQ(outcome.members.size(), 5U);
  EXPECT_TRUE(lost_nothing(outcome));
}

// Steps take so long that it has not left before the second signal.
TEST(Leaving, ASecondSignalEndsItAtOnce) {
  OpenRun run(open_job({"cluster.unit=0.04"}), false);
  Crew crew(run);
  run.then(50, [&] { crew.workers[2]->signal(SIGTERM); });
  run.once([&] { return is_ended_by(crew.workers[2]->pid(), SIGTERM); },
           [&] { crew.workers[2]->signal(SIGTERM); });
  run.once([&] { return run.decided("goes on without") == 1; }, [] {});
  const RunOutcome outcome = run.conduct(50);
  EXPECT_EQ(crew.workers[2]->wait().code, kTerminated);
  EXPECT_EQ(outcome.workers.size(), 3U);
}

// Steps are so long that it is ready, but not a member yet.
TEST(Leaving, ANewcomerDoesNotHaveToTakePartFirst) {
  OpenRun run(open_job({"cluster.unit=0.1"}));
  Process* newcomer = nullptr;
  run.then(50, [&] { newcomer = &run.start(); });
  run.once([&] { return !is_ended_by(newcomer->pid(), SIGTERM); },
           [&] { newcomer->signal(SIGTERM); });
  run.once([&] { return !is_running(newcomer->pid()); }, [] {});
  const RunOutcome outcome = run.conduct(0);
  const Finished finished = newcomer->wait();
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.err, "left the run, which goes on\n");
  EXPECT_EQ(outcome.workers.size(), 4U);
}

TEST(Leaving, ARunThatIsNotElasticEndsInOrder) {
  OpenRun run(open_job({"cluster.elastic=false"}), false);
  Crew crew(run);
  run.saves = true;
  run.then(500, [&] { crew.tell_to_leave(1); });
  const RunOutcome outcome = run.conduct_to_its_end();
  EXPECT_EQ(outcome.stopped, "SIGTERM");
  EXPECT_EQ(outcome.workers.size(), 4U);
  EXPECT_EQ(crew.exit_codes(), (std::vector<int>{0, 0, 0, 0}));
  EXPECT_EQ(run.checkpoints().back(), outcome.samples);
}

// Sanitizers have an allocator of their own, which ends the process.
#if !defined(MOTLEY_SANITIZED)
class WithoutMemory : public testing::TestWithParam<std::string> {};

// A worker that gets no more memory fails, wherever that is noticed: in a step, or while a thread
// that helps receives a message. It neither spins nor falls silent. So that memory is short at
// once, blocks of 64 KB and more come from the kernel.
TEST_P(WithoutMemory, AWorkerSaysSo) {
  setenv("MALLOC_MMAP_THRESHOLD_", "65536", 1);
  setenv("MALLOC_ARENA_MAX", "1", 1);
  OpenRun run(open_job({"strategy.sync=" + GetParam(), "data.features=100000", "data.samples=60",
                        "cluster.workers=2"}));
  Process* hungry = nullptr;
  run.then(200, [&] { hungry = &run.start({"--once"}); });
  run.once([&] { return run.decided("worker 2 (pid") > 0; }, [] {});
  run.then(300, [&] {
    const rlimit none{1 << 20, 1 << 20};
    prlimit(hungry->pid(), RLIMIT_AS, &none, nullptr);
  });
  run.then(1'000'000, [] {});
  const std::string why = run.why_it_failed();
  unsetenv("MALLOC_MMAP_THRESHOLD_");
  unsetenv("MALLOC_ARENA_MAX");
  EXPECT_EQ(why.find("worker 2 (pid "), 0U) << why;
  EXPECT_NE(why.find("failed: out of memory (this process may use 1 MB: ulimit -v)"),
            std::string::npos)
      << why;
  const Finished finished = hungry->wait(std::chrono::seconds(10));
  EXPECT_EQ(finished.code, 1);
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  EXPECT_NE(finished.err.find("out of memory"), std::string::npos) << finished.err;
}

INSTANTIATE_TEST_SUITE_P(Leaving, WithoutMemory, testing::Values("all_reduce", "ad_psgd", "ps_asp"),
                         [](const auto& param) { return param.param; });
#endif

}  // namespace
}  // namespace motley::leaving_test

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
