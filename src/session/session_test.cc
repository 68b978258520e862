// Sessions and runs of one process. tests/api and tests/launchers test several processes.
#include "motley/session.h"

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "motley/run.h"
#include "session/run_address.h"
#include "session/session_impl.h"
#include "tests/scratch_dir.h"
#include "tests/toy_task.h"

namespace motley::session_test {
namespace {

// A session with these arguments, and the arguments that it leaves.
struct Program {
  explicit Program(std::vector<std::string> words) : arguments(std::move(words)) {
    arguments.insert(arguments.begin(), "program");
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    argc = static_cast<int>(argv.size()) - 1;
    session = std::make_unique<Session>(argc, argv.data());
  }

  std::vector<std::string> arguments;
  std::vector<char*> argv;
  int argc = 0;
  std::unique_ptr<Session> session;
};

std::string refusal(std::vector<std::string> words) {
  try {
    Program program(std::move(words));
  } catch (const Refused& refused) {
    return refused.what();
  }
  return "none";
}

struct Toy {
  ToyTask task{300, 50, 1, 0.01};
  std::unique_ptr<Replica> replica = task.make_replica();

  RunHooks hooks() {
    return {[this](const Snapshot& snapshot) {
              EXPECT_EQ(std::this_thread::get_id(), thread);
              return *task.evaluate(snapshot);
            },
            "rate 0.01\n"};
  }
  void fit(Run& run) {
    run.fit([&](const Work& work) { return replica->compute(work.samples); });
  }

  const std::thread::id thread = std::this_thread::get_id();
};

TEST(Session, TakesItsOwnFlagsOut) {
  Program program({"data", "--motley-set", "seed=4", "-v", "--motley-out=here", "--motley-resume",
                   "there", "--", "--motley-job", "x"});
  EXPECT_EQ(program.argc, 6);
  EXPECT_STREQ(program.argv[1], "data");
  EXPECT_STREQ(program.argv[2], "-v");
  EXPECT_STREQ(program.argv[3], "--");
  EXPECT_STREQ(program.argv[4], "--motley-job");
  EXPECT_EQ(program.argv[6], nullptr);
  EXPECT_EQ(program.session->impl().resume, "there");
  EXPECT_EQ(program.session->rank(), 0);
  EXPECT_EQ(program.session->size(), 1);
  EXPECT_EQ(program.session->exit_code(), 0);
}

TEST(Session, RefusesFlagsThatMakeNoSense) {
  EXPECT_EQ(refusal({"--motley-set"}), "--motley-set needs a value");
  EXPECT_EQ(refusal({"--motley-out="}), "--motley-out needs a value");
  EXPECT_EQ(refusal({"--motley-progress=1"}), "--motley-progress=1: this flag takes no value");
  EXPECT_EQ(refusal({"--motley-no-trace=1"}), "--motley-no-trace=1: this flag takes no value");
  EXPECT_TRUE(refusal({"--motley-sett", "a=b"}).starts_with("--motley-sett: unknown flag"));
  EXPECT_TRUE(refusal({"--motley-sett"}).starts_with("--motley-sett: unknown flag"));
  for (const char* seconds : {"0", "-1", "x", "1e9", ""}) {
    EXPECT_NE(refusal({"--motley-join-timeout", seconds}), "none") << seconds;
  }
}

TEST(Run, AProcessAloneTrainsAndEvaluatesOnItsOwnThread) {
  for (const char* sync : {"all_reduce", "ps_bsp", "local_sgd", "ashl"}) {
    Program program({});
    Toy toy;
    Options options{.batch = 30, .epochs = 4, .eval_every = 10};
    options.strategy.sync = sync;
    motley::Run run(*program.session, options, *toy.replica, 300, toy.hooks());
    toy.fit(run);
    EXPECT_EQ(run.result().samples, 1200) << sync;
    EXPECT_EQ(run.result().steps, 40);
    ASSERT_TRUE(run.result().loss.has_value());
    EXPECT_EQ(*run.result().loss, toy.task.evaluate(snapshot_of(*toy.replica))->loss) << sync;
    EXPECT_FALSE(run.begin());  // it stays over
  }
}

TEST(Run, OneAfterTheOtherInOneSession) {
  Program program({});
  for (int i = 0; i < 3; ++i) {
    Toy toy;
    motley::Run run(*program.session, {.batch = 30, .steps = 5}, *toy.replica, 300);
    toy.fit(run);
    EXPECT_EQ(run.result().samples, 150);
    EXPECT_FALSE(run.result().loss.has_value());  // there is no evaluate hook
  }
}

// tests/api/numbers_test.py sums over several ranks.
TEST(Session, TheSumOverOneRankIsItself) {
  Program program({"--motley-set", "no.such=key"});  // flags are not for sums
  std::vector<double> numbers = {0.1, 1e12, -3};
  const std::vector<double> before = numbers;
  program.session->sum(numbers);
  EXPECT_EQ(numbers, before);
}

TEST(Session, NothingIsSummedDuringARun) {
  Program program({});
  Toy toy;
  motley::Run run(*program.session, {.batch = 30, .steps = 2}, *toy.replica, 300);
  std::vector<double> numbers = {1};
  EXPECT_THROW(program.session->sum(numbers), std::logic_error);
  toy.fit(run);
  program.session->sum(numbers);
}

TEST(Run, StopsWhenToldTo) {
  Program program({});
  Toy toy;
  motley::Run run(*program.session, {.batch = 30, .steps = 1'000'000}, *toy.replica, 300);
  std::int64_t steps = 0;
  while (const auto work = run.begin()) {
    run.finish(toy.replica->compute(work->samples));
    if (++steps == 3) {
      run.stop();
    }
  }
  EXPECT_EQ(run.result().stopped, "the program");
  EXPECT_EQ(run.result().samples, 30 * steps);
  EXPECT_EQ(steps, 4);  // the step after the request carries it to the others
}

TEST(Run, ATargetEndsIt) {
  Program program({});
  Toy toy;
  Options options{.batch = 30, .steps = 1'000'000, .target_accuracy = 0.001, .eval_every = 1};
  RunHooks hooks;
  hooks.evaluate = [](const Snapshot&) { return Evaluation{1, 0.5}; };
  motley::Run run(*program.session, options, *toy.replica, 300, hooks);
  toy.fit(run);
  EXPECT_EQ(run.result().stopped, "target");
}

TEST(Run, ExceptionsOfTheProgramAreRethrownUnchanged) {
  Program program({});
  Toy toy;
  motley::Run run(*program.session, {.batch = 30}, *toy.replica, 300);
  EXPECT_THROW(run.fit([](const Work&) -> double { throw std::out_of_range("no such sample"); }),
               std::out_of_range);
}

TEST(Run, AnExceptionOfTheEvaluateHookIsTheReason) {
  Program program({});
  Toy toy;
  RunHooks hooks;
  hooks.evaluate = [](const Snapshot&) -> Evaluation { throw std::runtime_error("no test data"); };
  motley::Run run(*program.session, {.batch = 30, .eval_every = 1}, *toy.replica, 300, hooks);
  try {
    toy.fit(run);
    FAIL();
  } catch (const std::runtime_error& own) {
    EXPECT_STREQ(own.what(), "no test data");  // rethrown unchanged
  }
  EXPECT_THROW(run.begin(), RunFailed);
}

TEST(Session, ThePartOfOneProcessIsEverything) {
  Program program({});
  EXPECT_EQ(program.session->part_of(7), (std::pair<std::int64_t, std::int64_t>{0, 7}));
}

TEST(Session, IsOneAtATime) {
  Program program({});
  EXPECT_THROW(Program({}), std::logic_error);
}

TEST(Run, CallsOutOfTurnEndIt) {
  Program program({});
  const auto run_with = [&](const auto& misuse) {
    Toy toy;
    RunHooks hooks;
    motley::Run* self = nullptr;
    hooks.evaluate = [&](const Snapshot&) {
      self->begin();
      return Evaluation{};
    };
    motley::Run run(*program.session, {.batch = 30, .eval_every = 1}, *toy.replica, 300, hooks);
    self = &run;
    EXPECT_THROW(misuse(run, toy), std::logic_error);
    EXPECT_THROW(run.begin(), RunFailed);
  };
  run_with([](motley::Run& run, Toy&) { run.finish(0); });
  run_with([](motley::Run& run, Toy&) { (void)run.begin(), (void)run.begin(); });
  run_with([](motley::Run& run, Toy& toy) { toy.fit(run); });  // begin() in the hook
  run_with([](motley::Run& run, Toy&) {
    EXPECT_TRUE(run.begin());
    run.finish(0);
    run.finish(0);
  });
}

TEST(Run, ARunThatIsOverOnlyHasAResult) {
  Program program({});
  Toy toy;
  motley::Run run(*program.session, {.batch = 30, .steps = 2}, *toy.replica, 300);
  EXPECT_THROW(run.result(), std::logic_error);
  toy.fit(run);
  const Snapshot model = snapshot_of(*toy.replica);
  EXPECT_THROW(run.finish(0), std::logic_error);
  run.stop();
  EXPECT_EQ(snapshot_of(*toy.replica).parameters, model.parameters);
  EXPECT_EQ(run.result().samples, 60);
}

TEST(Run, OneAtATime) {
  Program program({});
  Toy toy;
  motley::Run first(*program.session, {.batch = 30, .steps = 2}, *toy.replica, 300);
  const auto second = [&] {
    motley::Run run(*program.session, {.batch = 30, .steps = 2}, *toy.replica, 300);
    toy.fit(run);
  };
  EXPECT_THROW(second(), std::logic_error);
  toy.fit(first);
  second();  // although the first one still exists
  EXPECT_EQ(first.result().steps, 2);
}

TEST(Run, NeedsSamples) {
  Program program({});
  Toy toy;
  EXPECT_THROW(motley::Run(*program.session, {.batch = 30}, *toy.replica, 0), Refused);
}

TEST(Run, DestroyingARunEarlyAbortsIt) {
  Program program({});
  Toy toy;
  { motley::Run run(*program.session, {.batch = 30}, *toy.replica, 300); }
  {
    motley::Run run(*program.session, {.batch = 30}, *toy.replica, 300);
    EXPECT_TRUE(run.begin());
  }
}

TEST(Run, OptionsAreCheckedAndFlagsWin) {
  Program program({"--motley-set", "train.steps=7", "--motley-set", "strategy.codec=fp16"});
  Toy toy;
  EXPECT_THROW(motley::Run(*program.session, {.batch = 0}, *toy.replica, 300), Refused);
  motley::Run run(*program.session, {.batch = 30, .steps = 5}, *toy.replica, 300);
  EXPECT_EQ(run.job().strategy.codec, CodecKind::kFp16);
  toy.fit(run);
  EXPECT_EQ(run.result().samples, 210);
}

TEST(Run, ADirectoryHasReportAndRecords) {
  const ScratchDir scratch;
  const std::string out = scratch.path() + "/out";
  Toy toy;
  {
    Program program({"--motley-out", out, "--motley-no-trace"});
    motley::Run run(*program.session, {.batch = 30, .epochs = 1}, *toy.replica, 300, toy.hooks());
    run.fit([&](const Work& work) {
      EXPECT_TRUE(find_run(out));  // `motley status` can ask it
      return toy.replica->compute(work.samples);
    });
  }
  EXPECT_FALSE(find_run(out));
  for (const char* file : {"job.toml", "summary.json", "metrics.jsonl", "report.html"}) {
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / file)) << file;
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(out) / "trace.json"));
  Program nowhere({"--motley-out", "/proc/nowhere"});
  EXPECT_THROW(motley::Run(*nowhere.session, {.batch = 30}, *toy.replica, 300), Refused);
}

// By the flag, from a run directory; by the option, from a checkpoint.
TEST(Run, GoesOnFromACheckpoint) {
  ScratchDir scratch;
  const std::string out = scratch.path() + "/out";
  Options options{.batch = 30, .steps = 20, .eval_every = 5, .checkpoint_every = 6};
  options.cluster.unit = 1e-3;  // so slow that checkpoints are not left out, or not all of them
  Toy whole;
  {
    Program program({"--motley-out", out});
    motley::Run run(*program.session, options, *whole.replica, 300, whole.hooks());
    whole.fit(run);
  }
  std::filesystem::remove_all(out + "/checkpoints/20");
  for (const bool by_flag : {true, false}) {
    std::map<int, std::string> checkpoints;
    for (const auto& each : std::filesystem::directory_iterator(out + "/checkpoints")) {
      checkpoints[std::stoi(each.path().filename())] = each.path();
    }
    ASSERT_FALSE(checkpoints.empty());
    const std::string from = by_flag ? checkpoints.rbegin()->second : checkpoints.begin()->second;
    Program program(by_flag ? std::vector<std::string>{"--motley-resume", out}
                            : std::vector<std::string>{});
    options.resume = by_flag ? "/nowhere" : from;  // the flag overrides it
    Toy again;
    motley::Run run(*program.session, options, *again.replica, 300, again.hooks());
    again.fit(run);
    EXPECT_EQ(run.result().samples, 600);
    EXPECT_EQ(snapshot_of(*again.replica).parameters, snapshot_of(*whole.replica).parameters);
    EXPECT_EQ(nlohmann::json::parse(run.result().summary)["resumed_from"], from);
  }
}

// Models are evaluated on the thread that trains. At the end of a run it waits for the last
// checkpoint, while those before wait for their evaluations.
TEST(Run, EndsWhileCheckpointsWaitForEvaluations) {
  ScratchDir scratch;
  Program program({"--motley-out", scratch.path() + "/run"});
  Toy toy;
  // Every step asks for an evaluation, so that many are left when the run ends.
  const Options options{.batch = 30, .steps = 50, .eval_every = 1, .checkpoint_every = 49};
  motley::Run run(*program.session, options, *toy.replica, 300, toy.hooks());
  toy.fit(run);
  EXPECT_EQ(run.result().steps, 50);
  EXPECT_TRUE(std::filesystem::exists(scratch.path() + "/run/checkpoints/50"));
}

TEST(Run, RefusesWhatItCannotGoOnFrom) {
  ScratchDir scratch;
  const std::string out = scratch.path() + "/out";
  Toy toy;
  {
    Program program({"--motley-out", out});
    motley::Run run(*program.session, {.batch = 30, .steps = 4}, *toy.replica, 300);
    toy.fit(run);
  }
  const auto why_not = [&](const Options& options, const std::string& from) -> std::string {
    Program program({"--motley-resume", from});
    try {
      motley::Run(*program.session, options, *toy.replica, 300);
    } catch (const Refused& refused) {
      return refused.what();
    }
    return "none";
  };
  EXPECT_EQ(why_not({.batch = 30}, "/nowhere"), "--motley-resume: /nowhere: no such directory");
  EXPECT_NE(why_not({.batch = 60, .steps = 9}, out).find("train.batch is 60"), std::string::npos);
  EXPECT_NE(why_not({.batch = 30, .steps = 4}, out).find("the run is complete"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(out + "/summary.json"));  // nothing was touched
}

// In a suite of its own, which runs last: a process remembers a signal until it ends, so every
// later run in this process would stop at once.
TEST(SignalledSession, NoRunFollowsOneThatASignalHasStopped) {
  Program program({});
  Toy toy;
  motley::Run run(*program.session, {.batch = 30, .steps = 1'000'000}, *toy.replica, 300);
  for (int step = 1; const auto work = run.begin(); ++step) {
    run.finish(toy.replica->compute(work->samples));
    if (step == 2) {
      std::raise(SIGTERM);
    }
  }
  EXPECT_EQ(run.result().stopped, "SIGTERM");
  EXPECT_EQ(program.session->exit_code(), 143);
  EXPECT_THROW(motley::Run(*program.session, {.batch = 30}, *toy.replica, 300), RunFailed);
}

}  // namespace
}  // namespace motley::session_test
