// Workers that a real run has lost, and that come back by themselves; and workers whose coordinator
// is gone. All are real processes, without torch.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "motley/base/failure.h"
#include "motley/sync/method.h"
#include "tests/open_run.h"

namespace motley::coming_back_test {
namespace {

// How a worker learns that it was lost depends on who is faster: it or the coordinator.
void expect_one_return(const Finished& worker) {
  EXPECT_TRUE(worker.err.starts_with("lost the run: ")) << worker.err;
  EXPECT_TRUE(worker.err.ends_with("; joining again\n")) << worker.err;
  EXPECT_EQ(std::ranges::count(worker.err, '\n'), 1) << worker.err;
}

// Four workers that the test starts. The last of them is suspended for longer than the heartbeat
// and wakes up when the run goes on without it.
struct Suspended {
  explicit Suspended(OpenRun& run, const std::vector<std::string>& flags = {}) {
    for (int i = 0; i < 4; ++i) {
      std::vector<std::string> own = flags;
      own.insert(own.end(), {"--rank", std::to_string(i)});
      workers.push_back(&run.start(own));
    }
    run.then(500, [this] { workers[3]->signal(SIGSTOP); });
    run.once([&run] { return run.decided("goes on without") == 1; },
             [this] { workers[3]->signal(SIGCONT); });
  }
  std::vector<Process*> workers;
};

class ARunTakesBack : public testing::TestWithParam<std::string> {};

TEST_P(ARunTakesBack, AWorkerThatWasSuspended) {
  OpenRun run(open_job({"strategy.sync=" + GetParam(), "cluster.heartbeat=2"}), false);
  const Suspended suspended(run);
  run.once([&] { return run.decided(" joins") == 1; }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(outcome.workers.size(), 4U);
  ASSERT_GE(outcome.members.size(), 5U);  // servers follow
  EXPECT_EQ(outcome.members[4].process.id, 3) << "it asks for its rank again";
  for (Process* const worker : suspended.workers) {
    const Finished finished = worker->wait();
    EXPECT_EQ(finished.code, 0);
    if (worker == suspended.workers[3]) {
      expect_one_return(finished);
    } else {
      EXPECT_EQ(finished.err, "");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ComingBack, ARunTakesBack,
                         testing::Values("all_reduce", "ad_psgd", "ps_ssp", "local_sgd"),
                         [](const auto& param) { return param.param; });

TEST(ComingBack, NotIfItWasToldNotTo) {
  OpenRun run(open_job({"cluster.heartbeat=2"}), false);
  const Suspended suspended(run, {"--once"});
  run.once([&] { return !is_running(suspended.workers[3]->pid()); }, [] {});
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(outcome.workers.size(), 3U);
  const Finished finished = suspended.workers[3]->wait();
  EXPECT_EQ(finished.code, 1);
  EXPECT_TRUE(finished.err.starts_with("the run failed: ")) << finished.err;
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1);
}

TEST(ComingBack, NotAfterAFailureOfTheRun) {
  OpenRun run(open_job(), false);
  std::vector<Process*> workers;
  for (int i = 0; i < 4; ++i) {
    workers.push_back(&run.start());
  }
  run.then(500, [] { throw RunFailed("the disk is full"); });
  EXPECT_EQ(run.why_it_failed(), "the disk is full");
  for (Process* const worker : workers) {
    const Finished finished = worker->wait(std::chrono::seconds(20));
    EXPECT_EQ(finished.code, 1);
    EXPECT_EQ(finished.err, "the run failed: the disk is full\n");
  }
}

// A coordinator in a process of its own, which prints where to join.
class LonelyCoordinator {
 public:
  LonelyCoordinator() : process_({"/proc/self/exe", "coordinator"}) {}

  // Workers of a run that goes on for as long as it is not killed.
  std::vector<std::unique_ptr<Process>> start_workers() {
    EXPECT_TRUE(eventually([&] { return process_.out().ends_with('\n'); }));
    std::istringstream said(process_.out());
    std::string token;
    said >> address >> token;
    setenv(kTokenVariable, token.c_str(), 1);
    std::vector<std::unique_ptr<Process>> workers;
    for (int i = 0; i < 4; ++i) {
      workers.push_back(std::make_unique<Process>(std::vector<std::string>{
          "/proc/self/exe", "worker", "--join", address, "--patience", "5"}));
    }
    EXPECT_TRUE(eventually([&] { return process_.out().ends_with("trains\n"); }));
    return workers;
  }
  void kill() {
    process_.signal(SIGKILL);
    process_.wait();
  }

  std::string address;

 private:
  Process process_;
};

TEST(ComingBack, WorkersWhoseCoordinatorIsGoneForGoodEnd) {
  LonelyCoordinator coordinator;
  const auto workers = coordinator.start_workers();
  coordinator.kill();
  for (const auto& worker : workers) {
    const Finished finished = worker->wait(std::chrono::seconds(30));
    EXPECT_EQ(finished.code, 1);
    EXPECT_TRUE(finished.err.ends_with(
        "; joining again\nthe run failed: timed out after 5 s waiting for the coordinator: nothing "
        "listens at " +
        coordinator.address + "\n"))
        << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 2) << finished.err;
  }
}

// As `motley train --resume` would be. Its job is another one, so the workers load that.
TEST(ComingBack, WorkersJoinACoordinatorThatComesBack) {
  LonelyCoordinator coordinator;
  const auto workers = coordinator.start_workers();
  coordinator.kill();
  OpenRun run(open_job({"data.samples=120"}), false, parse_endpoint(coordinator.address)->port);
  const RunOutcome outcome = run.conduct();
  EXPECT_EQ(outcome.workers.size(), 4U);
  for (const auto& worker : workers) {
    const Finished finished = worker->wait();
    EXPECT_EQ(finished.code, 0);
    expect_one_return(finished);
  }
}

// Workers that a test starts, and what it does to them at random moments.
class ComingAndGoing {
 public:
  ComingAndGoing(OpenRun& run, std::uint64_t seed) : run_(run), random_(seed) {
    for (int i = 0; i < 4; ++i) {
      start();
    }
    for (int i = 0; i < 8; ++i) {
      run.then(50 + static_cast<std::int64_t>(random_.below(600)), [this] { happen(); });
      // Suspended workers wake up before the next one is chosen.
      run.once([this] { return is_awake(); }, [] {});
    }
  }

  // A worker that was killed or told to leave ends like that; the others last to the end of the
  // run, but that may come while one of them is about to join again.
  void expect_exit_codes() {
    for (const Each& each : all_) {
      const Finished finished = each.process->wait();
      EXPECT_TRUE(std::ranges::count(each.codes, finished.code))
          << finished.code << finished.err << said;
    }
  }
  std::string said;

 private:
  using Clock = std::chrono::steady_clock;
  struct Each {
    Process* process = nullptr;
    std::vector<int> codes = {0};
    bool stays = true;
  };

  void start() { all_.push_back({&run_.start({"--patience", "5"})}); }

  void happen() {
    std::vector<Each*> staying;
    for (Each& each : all_) {
      if (each.stays) {
        staying.push_back(&each);
      }
    }
    Each& victim = *staying[random_.below(staying.size())];
    const std::uint64_t kind = staying.size() < 3 ? 0 : random_.below(5);
    if (kind == 0) {
      said += " joins";
      start();
    } else if (kind == 1) {
      end(victim, SIGTERM, {0, 128 + SIGTERM});  // the latter: it did not watch for signals yet
    } else if (kind == 2) {
      end(victim, SIGKILL, {128 + SIGKILL});
    } else {
      said += kind == 3 ? " blinks" : " sleeps";
      victim.process->signal(SIGSTOP);
      suspended_ = victim.process;
      victim.codes.push_back(1);
      since_ = Clock::now();
      lasts_ = kind == 3 ? std::chrono::milliseconds(300) : std::chrono::milliseconds(3'000);
    }
  }
  void end(Each& victim, int number, std::vector<int> codes) {
    said += fmt::format(" {}", number);
    victim.process->signal(number);
    victim.codes = std::move(codes);
    victim.stays = false;
  }
  bool is_awake() {
    if (suspended_ && Clock::now() - since_ > lasts_) {
      std::exchange(suspended_, nullptr)->signal(SIGCONT);
    }
    return !suspended_;
  }

  OpenRun& run_;
  Random random_;
  std::deque<Each> all_;
  Process* suspended_ = nullptr;
  Clock::time_point since_;
  Clock::duration lasts_{};
};

// MOTLEY_RUNS: how many; MOTLEY_SEED: of the first one.
TEST(ComingBack, RandomlyInEveryMethod) {
  const char* const runs = std::getenv("MOTLEY_RUNS");
  const char* const first = std::getenv("MOTLEY_SEED");
  const std::uint64_t begin = first ? std::stoull(first) : 1;
  for (std::uint64_t seed = begin; seed < begin + (runs ? std::stoull(runs) : 3); ++seed) {
    const std::string method(methods()[seed % methods().size()]->name());
    SCOPED_TRACE(fmt::format("{}, seed {}", method, seed));
    OpenRun run(open_job({"strategy.sync=" + method, "cluster.heartbeat=2",
                          "strategy.adsp.period=0.01", "strategy.ps.servers=2"}),
                false);
    ComingAndGoing workers(run, seed);
    const RunOutcome outcome = run.conduct();
    EXPECT_EQ(outcome.stopped, "the test") << workers.said;
    EXPECT_TRUE(std::ranges::all_of(outcome.model.parameters,
                                    [](float each) { return std::isfinite(each); }));
    workers.expect_exit_codes();
    if (HasFailure()) {
      break;
    }
  }
}

int lonely_coordinator() {
  OpenRun run(open_job({"cluster.heartbeat=2"}), false);
  fmt::print("{} {}\n", run.address(), run.token());
  std::fflush(stdout);
  run.then(500, [] {
    fmt::print("trains\n");
    std::fflush(stdout);
  });
  run.conduct_to_its_end();
  return 0;
}

}  // namespace
}  // namespace motley::coming_back_test

int main(int argc, char** argv) {
  const bool is_coordinator = argc > 1 && std::string(argv[1]) == "coordinator";
  return is_coordinator ? motley::coming_back_test::lonely_coordinator()
                        : motley::toy_main(argc, argv);
}
