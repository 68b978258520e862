// `motley launch` as a user runs it: what it prints, how it ends, and that nothing is left behind.
// The handling of processes is tested in src/runtime/launch/launcher_test.cc.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>

#include "tests/process.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

class LaunchProgram : public testing::Test {
 protected:
  std::vector<std::string> command(const std::vector<std::string>& words) const {
    std::vector<std::string> all = {MOTLEY_PROGRAM, "launch"};
    all.insert(all.end(), words.begin(), words.end());
    return all;
  }
  Finished launch(const std::vector<std::string>& words) const {
    return run(command(words), scratch_.path());
  }
  std::vector<std::string> logs() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_.path())) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path().filename());
      }
    }
    std::ranges::sort(files);
    return files;
  }

  ScratchDir scratch_;
};

TEST_F(LaunchProgram, LinesBeginWithTheirRank) {
  const Finished finished = launch(
      {"-n", "2", "sh", "-c", "echo out $RANK; echo err $RANK >&2; printf 'no end'; exit 0"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  for (const std::string rank : {"0", "1"}) {
    for (const std::string& line : {"out " + rank + "\n", std::string("no end\n")}) {
      EXPECT_NE(finished.out.find("[rank " + rank + "] " + line), std::string::npos);
    }
    EXPECT_NE(finished.err.find("[rank " + rank + "] err " + rank + "\n"), std::string::npos);
  }
  EXPECT_EQ(std::ranges::count(finished.out, '\n'), 4);
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 2);
  EXPECT_EQ(logs(), (std::vector<std::string>{"rank_0.log", "rank_1.log"}));
}

TEST_F(LaunchProgram, ArgumentsAfterTheProgramBelongToIt) {
  const std::vector<std::string> words = {"echo", "-n", "9", "--quiet", "--", "--help", "train"};
  std::vector<std::string> dashed = {"--"};
  dashed.insert(dashed.end(), words.begin(), words.end());
  for (const auto& each : {words, dashed}) {
    EXPECT_EQ(launch(each).out, "[rank 0] 9 --quiet -- --help train\n");
  }
}

TEST_F(LaunchProgram, QuietIsForTheTerminal) {
  const Finished finished =
      launch({"--quiet", "--log-dir", "here", "sh", "-c", "echo a; echo b >&2"});
  EXPECT_EQ(finished.out + finished.err, "");
  const std::string kept = read_file(scratch_.file("here/rank_0.log"));
  EXPECT_TRUE(kept == "a\nb\n" || kept == "b\na\n") << kept;
}

TEST_F(LaunchProgram, AFailureIsShownInABox) {
  const Finished finished = launch({"-n", "2", "--log-dir", "here", "sh", "-c",
                                    "if [ $RANK = 0 ]; then exit 0; fi; "
                                    "printf 'cause\nno data' > $MOTLEY_ERROR_FILE; exit 3"});
  EXPECT_EQ(finished.code, 1);
  for (const char* part : {"| motley launch: sh failed ", "|   first    rank 1 (host ",
                           "), exit code 3", "|   why      no data ",
                           "|   log      here/rank_1.log ", "|   others   rank 0: exit code 0 "}) {
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.err;
  }
}

TEST_F(LaunchProgram, BadUsageIsOneLineAndNothingIsWritten) {
  const std::string data = scratch_.write("data", "no program");
  for (const auto& [words, expected] :
       std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{}, "PROGRAM is missing"},
           {{"-n", "2", "--"}, "PROGRAM is missing"},
           {{"-n", "0", "true"}, "--nproc"},
           {{"-n", "x", "true"}, "--nproc"},
           {{"--bad", "true"}, "--bad"},
           {{"no-such-program"}, "no-such-program: program not found in PATH"},
           {{"./none"}, "./none: no such file"},
           {{"./data"}, "./data: not an executable program"},
           {{"--nnodes", "2", "--node-rank", "0", "true"}, "--master-addr"},
           {{"--nnodes", "2", "--master-addr", "a", "true"}, "--node-rank"},
           {{"--node-rank", "1", "true"}, "--node-rank 1: expected 0 to 0"},
           {{"--master-port", "0", "true"}, "--master-port"},
           {{"--log-dir", "data", "true"}, "--log-dir data"}}) {
    const Finished finished = launch(words);
    EXPECT_EQ(finished.code, 2) << expected;
    EXPECT_NE(finished.err.find(expected), std::string::npos) << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_EQ(finished.out, "");
  }
  EXPECT_EQ(logs(), std::vector<std::string>{"data"});
}

// Processes that wait until they are told to end.
class Waiting : public LaunchProgram {
 protected:
  explicit Waiting(const std::string& traps = ":") {
    launcher_.emplace(command({"-n", "2", "--log-dir", scratch_.file("logs"), "sh", "-c",
                               traps + "; echo ready; while :; do sleep 0.01; done"}));
    EXPECT_TRUE(eventually([&] { return is_ready(0) && is_ready(1); }));
    processes_ = children_of(launcher_->pid());
    EXPECT_EQ(processes_.size(), 2U);
  }
  std::string log(int rank) const {
    return read_file(scratch_.file("logs/rank_" + std::to_string(rank) + ".log"));
  }
  bool is_ready(int rank) const { return log(rank).starts_with("ready\n"); }
  void expect_nothing_left() const {
    EXPECT_TRUE(eventually([&] { return std::ranges::none_of(processes_, is_running); }));
  }

  std::optional<Process> launcher_;
  std::vector<pid_t> processes_;
};
class WaitingInOrder : public Waiting {
 protected:
  WaitingInOrder() : Waiting("trap 'echo once; exit 0' INT TERM") {}
};
class Deaf : public Waiting {
 protected:
  Deaf() : Waiting("trap 'echo heard' INT TERM") {}
};

TEST_F(Waiting, SigintEndsAll) {
  launcher_->signal(SIGINT);
  const Finished finished = launcher_->wait();
  EXPECT_EQ(finished.code, 130);
  EXPECT_EQ(finished.err, "motley: stopped by SIGINT\n");
  expect_nothing_left();
}

TEST_F(WaitingInOrder, ProcessesMayStopInOrder) {
  launcher_->signal(SIGTERM);
  EXPECT_EQ(launcher_->wait().code, 143);
  for (const int rank : {0, 1}) {
    const std::string said = log(rank);
    EXPECT_NE(said.find("once\n"), std::string::npos);
    EXPECT_EQ(said.find("once\n"), said.rfind("once\n")) << said;
  }
  expect_nothing_left();
}

TEST_F(Deaf, TheThirdSigintKills) {
  const auto heard = [&](int rank) {
    std::size_t times = 0;
    const std::string said = log(rank);
    for (std::size_t at = 0; (at = said.find("heard", at)) != std::string::npos; ++at) {
      ++times;
    }
    return times;
  };
  for (std::size_t times = 1; times < 3; ++times) {
    launcher_->signal(SIGINT);
    EXPECT_TRUE(eventually([&] { return heard(0) == times && heard(1) == times; }));
  }
  launcher_->signal(SIGINT);
  EXPECT_EQ(launcher_->wait().code, 130);
  expect_nothing_left();
}

TEST_F(Deaf, NoneOutlivesALauncherThatIsKilled) {
  launcher_->signal(SIGKILL);
  launcher_->wait();
  expect_nothing_left();
}

// If the reader of the output goes away, only the output is lost.
TEST_F(LaunchProgram, TheRunGoesOnWithoutAReader) {
  const std::string line = std::string(MOTLEY_PROGRAM) +
                           " launch --log-dir here sh -c 'echo first; seq 100000' | "
                           "head -n 1";
  const Finished finished = run({"sh", "-c", line}, scratch_.path());
  EXPECT_EQ(finished.out, "[rank 0] first\n");
  EXPECT_TRUE(eventually(
      [&] { return read_file(scratch_.file("here/rank_0.log")).ends_with("\n100000\n"); }));
}

}  // namespace
}  // namespace motley
