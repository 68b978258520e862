#include "runtime/launch/launcher.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/scratch_dir.h"

namespace motley::launcher_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class Launch : public testing::Test {
 protected:
  LauncherOptions options(const std::string& script, int processes) {
    LauncherOptions options;
    options.command = {"/bin/sh", "-c", script};
    options.program = "script";
    options.processes = processes;
    options.log_dir = scratch_.file(".");
    options.quiet = true;
    return options;
  }
  std::string log(Rank rank) {
    return contents(scratch_.file("rank_" + std::to_string(rank) + ".log"));
  }
  bool has_log(Rank rank) {
    return fs::exists(scratch_.file("rank_" + std::to_string(rank) + ".log"));
  }

  ScratchDir scratch_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Launch, EachProcessLearnsWhoItIs) {
  unsetenv("OMP_NUM_THREADS");
  unsetenv("MOTLEY_TOKEN");
  const LaunchResult result = launch(options(
      "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $GROUP_RANK $MASTER_ADDR "
      "$OMP_NUM_THREADS; echo $MASTER_PORT $MOTLEY_TOKEN > ${MOTLEY_ERROR_FILE%error}shared",
      2));
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(result.signal, std::nullopt);
  EXPECT_EQ(log(0), "0 2 0 2 0 127.0.0.1 1\n");
  EXPECT_EQ(log(1), "1 2 1 2 0 127.0.0.1 1\n");
  const std::string shared = contents(scratch_.file("rank_0.shared"));
  EXPECT_EQ(shared, contents(scratch_.file("rank_1.shared")));
  EXPECT_GT(std::stoi(shared), 1023);
  EXPECT_EQ(shared.size() - shared.find(' '), 1U + 32U + 1U) << shared;
}

TEST_F(Launch, WhatTheUserHasSetStays) {
  setenv("OMP_NUM_THREADS", "4", 1);
  setenv("MOTLEY_TOKEN", "mine", 1);
  EXPECT_EQ(launch(options("echo $OMP_NUM_THREADS $MOTLEY_TOKEN", 1)).failure, "");
  unsetenv("OMP_NUM_THREADS");
  unsetenv("MOTLEY_TOKEN");
  EXPECT_EQ(log(0), "4 mine\n");
}

TEST_F(Launch, OneOfSeveralMachines) {
  LauncherOptions several =
      options("echo $RANK $WORLD_SIZE $LOCAL_RANK $GROUP_RANK $MASTER_ADDR:$MASTER_PORT", 2);
  several.nodes = 3;
  several.node = 1;
  several.master = "a";
  several.port = 29500;
  EXPECT_EQ(launch(several).failure, "");
  EXPECT_EQ(log(2), "2 6 0 1 a:29500\n");
  EXPECT_EQ(log(3), "3 6 1 1 a:29500\n");
  EXPECT_FALSE(has_log(0));
}

// Rank 0 ends first, but rank 1 is the cause.
TEST_F(Launch, TheCauseIsNamed) {
  const LaunchResult result =
      launch(options("if [ $RANK = 0 ]; then echo consequence > $MOTLEY_ERROR_FILE; exit 4; fi\n"
                     "while [ ! -e ${MOTLEY_ERROR_FILE%rank_1.error}rank_0.error ]; do :; done\n"
                     "printf 'cause\\ndataset ended early\\n' > $MOTLEY_ERROR_FILE; exit 3",
                     2));
  EXPECT_TRUE(has(result.failure, "first    rank 1 (host ")) << result.failure;
  EXPECT_TRUE(has(result.failure, "exit code 3"));
  EXPECT_TRUE(has(result.failure, "why      dataset ended early"));
  EXPECT_TRUE(has(result.failure, "others   rank 0: exit code 4"));
  EXPECT_TRUE(has(result.failure, "rank_1.log"));
}

TEST_F(Launch, AnOldErrorFileIsIgnored) {
  scratch_.write("rank_0.error", "cause\nold\n");
  EXPECT_FALSE(has(launch(options("exit 1", 1)).failure, "old"));
}

// The others sleep; so do the processes that they started.
TEST_F(Launch, WhenOneFailsTheOthersAreEnded) {
  LauncherOptions failing = options("if [ $RANK = 1 ]; then exit 7; fi; sleep 1000; echo no", 3);
  failing.grace = 0;
  const LaunchResult result = launch(failing);
  EXPECT_TRUE(has(result.failure, "first    rank 1")) << result.failure;
  EXPECT_TRUE(has(result.failure, "others   ranks 0, 2: signal 15 (Terminated)"));
}

TEST_F(Launch, AProcessThatIgnoresSigtermIsKilled) {
  const std::string deaf = scratch_.file("deaf");
  LauncherOptions failing = options("if [ $RANK = 0 ]; then trap '' TERM; : > " + deaf +
                                        "; while :; do sleep 0.01; done; fi\n" + "while [ ! -e " +
                                        deaf + " ]; do :; done; exit 1",
                                    2);
  failing.grace = 0;
  failing.kill_after = 0.1;
  const LaunchResult result = launch(failing);
  EXPECT_TRUE(has(result.failure, "first    rank 1")) << result.failure;
  EXPECT_TRUE(has(result.failure, "others   rank 0: signal 9 (Killed)"));
}

// A process that ends by itself in time gets no signal.
TEST_F(Launch, TheOthersHaveTimeToEndInOrder) {
  const std::string gone = scratch_.file("gone");
  const LaunchResult result =
      launch(options("trap 'echo told' TERM; if [ $RANK = 1 ]; then : > " + gone +
                         "; exit 1; fi; while [ ! -e " + gone + " ]; do :; done; sleep 0.3; exit 2",
                     2));
  EXPECT_TRUE(has(result.failure, "others   rank 0: exit code 2")) << result.failure;
  EXPECT_EQ(log(0), "");
}

TEST_F(Launch, WhatIsLeftBehindEndsWithItsProcess) {
  EXPECT_EQ(launch(options("sleep 1000 & echo $! > ${MOTLEY_ERROR_FILE%error}pid", 1)).failure, "");
  const pid_t pid = std::stoi(contents(scratch_.file("rank_0.pid")));
  // It is not a child of this process: wait until it is dead, which takes the kernel a moment.
  const std::string stat = "/proc/" + std::to_string(pid) + "/stat";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (fs::exists(stat) && !has(contents(stat), ") Z ")) {
    ASSERT_LT(std::chrono::steady_clock::now(), end);
  }
}

// Each signal is sent when the previous one has been handled. The shell's stderr is closed, because
// it would report how its sleep ended.
TEST_F(Launch, SignalsAreHandedOn) {
  const std::string waits = scratch_.file("waits");
  LauncherOptions stopped =
      options("exec 2>&-; trap 'echo int; ' INT; trap 'echo term; exit 5' TERM; : > " + waits +
                  "; while :; do sleep 0.01; done",
              1);
  stopped.signals = [&](int number) {
    const bool has_heard = has(log(0), "int");
    return fs::exists(waits) && (number == SIGINT || has_heard) ? 1 : 0;
  };
  const LaunchResult result = launch(stopped);
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(log(0), "int\nterm\n");
}

// Rank 1 ends by the signal, which is not a failure: rank 0 has all the time it needs.
TEST_F(Launch, AfterASignalThereIsNoHurry) {
  LauncherOptions stopped = options(
      "if [ $RANK = 0 ]; then trap 'sleep 0.1; echo saved; exit 0' INT; fi\n"
      "exec 2>&-; echo ready; while :; do sleep 0.01; done",
      2);
  stopped.grace = 0;
  stopped.kill_after = 0;
  stopped.signals = [&](int number) {
    return number == SIGINT && has(log(0), "ready") && has(log(1), "ready") ? 1 : 0;
  };
  EXPECT_EQ(launch(stopped).signal, SIGINT);
  EXPECT_EQ(log(0), "ready\nsaved\n");
}

TEST_F(Launch, ARankThatIsLostIsStartedAgain) {
  const std::string again = scratch_.file("again");
  const LaunchResult result =
      launch(options("[ $RANK = 0 ] && exit 0; [ -e " + again + " ] && echo again && exit 0; : > " +
                         again + "; echo 'survives 1' > $MOTLEY_ELASTIC_FILE; kill -9 $$",
                     2));
  EXPECT_EQ(result.failure, "");
  EXPECT_EQ(log(1),
            "motley: rank 1 was killed by signal 9 (Killed); started again (1 of 1)\nagain\n");
  EXPECT_FALSE(fs::exists(scratch_.file("rank_1.elastic")));
}

// Nobody here knows how the run goes on.
TEST_F(Launch, TheLossOfAllRanksOfAMachineIsAFailure) {
  LauncherOptions second = options("echo 'survives 0' > $MOTLEY_ELASTIC_FILE; kill -9 $$", 1);
  second.nodes = 2;
  second.node = 1;
  second.master = "a";
  second.port = 29500;
  EXPECT_TRUE(has(launch(second).failure, "first    rank 1"));
}

// The others would leave the run, which rank 0 is about to stop.
TEST_F(Launch, SigtermIsForRank0IfTheRunIsElastic) {
  const std::string gone = scratch_.file("gone");
  LauncherOptions stopped = options(
      "exec 2>&-; if [ $RANK = 0 ]; then trap 'echo term; : > " + gone +
          "; exit 0' TERM; echo ready; while :; do sleep 0.01; done; fi\n" +
          "trap 'echo term; exit 0' TERM; echo 'survives 3' > $MOTLEY_ELASTIC_FILE; echo ready; "
          "while [ ! -e " +
          gone + " ]; do sleep 0.01; done",
      2);
  stopped.signals = [&](int number) {
    return number == SIGTERM && has(log(0), "ready") && has(log(1), "ready") ? 1 : 0;
  };
  EXPECT_EQ(launch(stopped).signal, SIGTERM);
  EXPECT_EQ(log(0), "ready\nterm\n");
  EXPECT_EQ(log(1), "ready\n");
}

TEST_F(Launch, TheThirdSignalKills) {
  LauncherOptions deaf = options("trap '' INT TERM; while :; do sleep 0.01; done", 2);
  deaf.signals = [](int number) { return number == SIGINT ? 3 : 0; };
  EXPECT_EQ(launch(deaf).signal, SIGINT);
}

TEST_F(Launch, ProgramsAreFoundAsAShellFindsThem) {
  const std::string folder = scratch_.file("");
  const auto write = [&](const std::string& name, const std::string& text, unsigned mode) {
    const std::string path = scratch_.write(name, text);
    chmod(path.c_str(), mode);
    return path;
  };
  const auto error = [](const std::string& program) {
    const auto found = executable({program, "x"});
    return found ? "none" : found.error().message;
  };
  EXPECT_EQ(executable({"sh", "x"}).value().at(1), "x");
  EXPECT_TRUE(executable({"sh"}).value().front().ends_with("/sh"));
  const std::string script = write("script", "#! /bin/sh -e\n", 0755);
  EXPECT_EQ(executable({script, "x"}).value(), (std::vector<std::string>{script, "x"}));
  const std::string plain = write("plain", "echo\n", 0755);
  EXPECT_EQ(executable({plain}).value(), (std::vector<std::string>{"/bin/sh", plain}));
  EXPECT_EQ(error("no-such-program"), "no-such-program: program not found in PATH");
  EXPECT_EQ(error(""), ": program not found in PATH");
  EXPECT_EQ(error(folder + "/none"), folder + "/none: no such file");
  EXPECT_EQ(error("/tmp/"), "/tmp/: not an executable program");
  const std::string text = write("text", "#!/bin/sh\n", 0644);
  EXPECT_EQ(error(text), text + ": not an executable program");
  const std::string odd = write("odd", "#!/no/such/python\n", 0755);
  EXPECT_EQ(error(odd), odd + ": its interpreter /no/such/python cannot be executed");
}

TEST_F(Launch, AProgramThatCannotBeStartedFails) {
  LauncherOptions wrong = options("", 1);
  wrong.command = {scratch_.write("damaged", std::string("\x7f"
                                                         "ELF\0",
                                                         5))};
  chmod(wrong.command.front().c_str(), 0755);
  EXPECT_TRUE(has(launch(wrong).failure, "exit code 127"));
}

TEST_F(Launch, LogDirectories) {
  const std::string wanted = scratch_.file("a/b");
  EXPECT_EQ(make_log_dir(wanted).value(), wanted);
  EXPECT_EQ(make_log_dir(wanted).value(), wanted);
  EXPECT_TRUE(fs::is_directory(wanted));
  const std::string file = scratch_.write("file", "");
  EXPECT_TRUE(make_log_dir(file + "/x").error().message.starts_with("--log-dir " + file));
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.file(""));
  const std::string first = make_log_dir(std::nullopt, 0).value();
  EXPECT_EQ(make_log_dir(std::nullopt, 0).value(), first + "-2");
  fs::current_path(before);
  EXPECT_TRUE(first.starts_with("launch-logs/19"));
}

}  // namespace
}  // namespace motley::launcher_test
