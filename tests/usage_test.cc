// The command line: what is printed, and how mistakes in it are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/process.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = "name = \"small\"\n[cluster]\nunit = 1e-4\n";

TEST(Usage, MistakesOnTheCommandLineAreRefused) {
  ScratchDir scratch;
  scratch.write("job.toml", kJob);
  const std::vector<std::vector<std::string>> commands = {
      {MOTLEY_PROGRAM},
      {MOTLEY_PROGRAM, "tarin", "job.toml"},
      {MOTLEY_PROGRAM, "train"},
      {MOTLEY_PROGRAM, "config"},
      {MOTLEY_PROGRAM, "config", "job.toml", "--keys"},
      {MOTLEY_PROGRAM, "train", "job.toml", "--bogus"},
      {MOTLEY_PROGRAM, "train", "none.toml"},
      {MOTLEY_PROGRAM, "train", "."},
      {MOTLEY_PROGRAM, "simulate", "job.toml", "--set", "train.bach=3"},
      {MOTLEY_PROGRAM, "simulate", "job.toml", "--set", "train.batch"},
      {MOTLEY_PROGRAM, "simulate", "job.toml", "--set", "cluster.unit=0"},
      {MOTLEY_PROGRAM, "simulate", "job.toml", "--out", "job.toml"},
      {MOTLEY_PROGRAM, "simulate", "job.toml", "--out", "/proc/motley"},
      {MOTLEY_PROGRAM, "train", "job.toml", "--listen", "nonsense"},
      {MOTLEY_PROGRAM, "train", "job.toml", "--listen", "192.0.2.1:29500"},  // no machine has it
      {MOTLEY_PROGRAM, "worker", "--join", "nonsense", "--rank", "0"},
      {MOTLEY_PROGRAM, "worker", "--join", "127.0.0.1:0"},
  };
  for (const auto& command : commands) {
    const Finished finished = run(command, scratch.path());
    EXPECT_EQ(finished.code, 2) << testing::PrintToString(command) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_FALSE(fs::exists(scratch.file("runs")));
  }
}

TEST(Usage, HelpVersionAndListsArePrinted) {
  for (const char* command : {"--help", "--version", "strategies"}) {
    const Finished finished = run({MOTLEY_PROGRAM, command});
    EXPECT_EQ(finished.code, 0) << command;
    EXPECT_NE(finished.out, "") << command;
  }
  EXPECT_NE(run({MOTLEY_PROGRAM, "strategies"}).out.find("all_reduce"), std::string::npos);
}

TEST(Usage, ConfigPrintsAJobThatIsTheSameJob) {
  ScratchDir scratch;
  scratch.write("job.toml", kJob);
  const Finished first =
      run({MOTLEY_PROGRAM, "config", "job.toml", "--set", "train.batch=99"}, scratch.path());
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_NE(first.out.find("batch = 99"), std::string::npos);
  scratch.write("again.toml", first.out);
  EXPECT_EQ(run({MOTLEY_PROGRAM, "config", "again.toml"}, scratch.path()).out, first.out);
}

// What the program says, without "motley: ", when it refuses these arguments.
std::string refusal(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MOTLEY_PROGRAM);
  const Finished finished = run(arguments);
  EXPECT_EQ(finished.code, 2);
  EXPECT_EQ(finished.out, "");
  const std::string begin = "motley: ";
  return finished.err.starts_with(begin) ? finished.err.substr(begin.size()) : finished.err;
}

TEST(Usage, AWrongWordIsNamedWithTheNearestValidOne) {
  EXPECT_EQ(refusal({"simulat", "job.toml"}),
            "unknown command \"simulat\"; did you mean \"simulate\"? (see motley --help)\n");
  EXPECT_EQ(refusal({"xyzzy"}), "unknown command \"xyzzy\" (see motley --help)\n");
  EXPECT_EQ(refusal({"--versoin"}),
            "unknown option \"--versoin\"; did you mean \"--version\"? (see motley --help)\n");
  EXPECT_EQ(refusal({"train", "job.toml", "--ou", "run"}),
            "train: unknown option \"--ou\"; did you mean \"--out\"? (see motley train --help)\n");
  EXPECT_EQ(refusal({"simulate", "--sett", "a=b", "job.toml"}),
            "simulate: unknown option \"--sett\"; did you mean \"--set\"? "
            "(see motley simulate --help)\n");
  EXPECT_EQ(refusal({"--quiet", "train", "job.toml"}),
            "train: put --quiet after train (see motley train --help)\n");
  EXPECT_EQ(refusal({"train", "job.toml", "more.toml", "most.toml"}),
            "train: unexpected argument \"more.toml\" (see motley train --help)\n");
  EXPECT_EQ(refusal({"strategies", "all"}),
            "strategies: unexpected argument \"all\" (see motley strategies --help)\n");
  EXPECT_EQ(refusal({"launch", "--nprc", "3", "program"}),
            "launch: unknown option \"--nprc\"; did you mean \"--nproc\"? "
            "(see motley launch --help)\n");
}

TEST(Usage, AMissingWordIsNamed) {
  EXPECT_EQ(refusal({}),
            "expected a command: train, simulate, compare, report, state, status, drain, config, "
            "calibrate, strategies, launch, worker (see motley --help)\n");
  EXPECT_EQ(refusal({"train"}), "train: JOB is required (see motley train --help)\n");
  EXPECT_EQ(refusal({"worker"}), "worker: --join is required (see motley worker --help)\n");
}

constexpr const char* kPhantomJob =
    "[model]\nkind = \"phantom\"\nparameters = 1000\n"
    "[data]\nkind = \"synthetic\"\nsamples = 4096\n"
    "[train]\nbatch = 64\nsteps = 100\n"
    "[cluster]\nworkers = 4\nunit = 1e-3\n"
    "[[variant]]\nname = \"equal\"\n";

// A limit on the size of files stands for a full disk: the report and the trace do not fit.
TEST(Files, AReportThatDoesNotFitDoesNotFailTheRun) {
  ScratchDir scratch;
  scratch.write("job.toml", kPhantomJob);
  const std::string limited = "trap '' XFSZ; ulimit -f 100; exec \"$@\"";
  const Finished finished = run({"/bin/sh", "-c", limited, "sh", MOTLEY_PROGRAM, "simulate",
                                 "job.toml", "--out", "out", "--quiet"},
                                scratch.path());
  EXPECT_EQ(finished.code, 0);
  EXPECT_EQ(finished.err,
            "motley: warning: out/report.html: cannot be written: File too large\n"
            "motley: warning: out/trace.json: cannot be written: File too large\n");
  EXPECT_TRUE(finished.out.ends_with("saved in out\n")) << finished.out;
  EXPECT_TRUE(fs::exists(scratch.file("out/summary.json")));
  EXPECT_TRUE(fs::exists(scratch.file("out/record.json")));
}

TEST(Files, ATraceIsWrittenUnlessItIsNotWanted) {
  ScratchDir scratch;
  scratch.write("job.toml", kPhantomJob);
  for (const bool wanted : {true, false}) {
    std::vector<std::string> simulate{MOTLEY_PROGRAM, "simulate", "job.toml", "--out", "out"};
    std::vector<std::string> compare{MOTLEY_PROGRAM, "compare", "job.toml",
                                     "--simulate",   "--out",   "several"};
    for (auto* command : {&simulate, &compare}) {
      if (!wanted) {
        command->emplace_back("--no-trace");
      }
      EXPECT_EQ(run(*command, scratch.path()).code, 0);
    }
    for (const char* directory : {"out", "several/equal"}) {
      EXPECT_EQ(fs::exists(scratch.file(directory) + "/trace.json"), wanted) << directory;
      EXPECT_TRUE(fs::exists(scratch.file(directory) + "/report.html")) << directory;
    }
  }
}

}  // namespace
}  // namespace motley
