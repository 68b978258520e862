// The program built without torch (MOTLEY_COMPUTE=OFF): it simulates, and refuses what computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/process.h"

namespace motley {
namespace {

constexpr const char* kPhantomJob =
    "name = \"sizes\"\n"
    "[model]\nkind = \"phantom\"\nparameters = 100_000\n"
    "[data]\nkind = \"synthetic\"\nsamples = 4096\n"
    "[train]\nbatch = 64\nsteps = 20\n"
    "[cluster]\nworkers = 4\nunit = 1e-3\nspeeds = [1, 1, 1, 0.25]\n"
    "[[variant]]\nname = \"equal\"\n"
    "[[variant]]\nname = \"adaptive\"\nstrategy.allocation = \"adaptive\"\n";
constexpr const char* kComputingJob =
    "name = \"numbers\"\n"
    "[data]\nkind = \"idx\"\npath = \"/nowhere\"\n"
    "[cluster]\nunit = 1e-3\n"
    "[[variant]]\nname = \"equal\"\n";

Finished motley(const ScratchDir& scratch, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), MOTLEY_PROGRAM);
  return run(arguments, scratch.path());
}

void expect_refused_for_want_of_torch(const std::vector<std::string>& arguments) {
  ScratchDir scratch;
  scratch.write("job.toml", kComputingJob);
  const Finished finished = motley(scratch, arguments);
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
  EXPECT_NE(finished.err.find("built without it (MOTLEY_COMPUTE=OFF)"), std::string::npos)
      << finished.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.file("runs")));
}

TEST(WithoutTorch, AJobThatComputesIsRefusedInOneLine) {
  expect_refused_for_want_of_torch({"train", "job.toml"});
  expect_refused_for_want_of_torch({"simulate", "job.toml"});
  expect_refused_for_want_of_torch({"compare", "job.toml"});
  expect_refused_for_want_of_torch({"compare", "job.toml", "--simulate"});
}

TEST(WithoutTorch, APhantomModelIsSimulated) {
  ScratchDir scratch;
  scratch.write("job.toml", kPhantomJob);
  const Finished finished = motley(scratch, {"simulate", "job.toml", "--out", "run", "--json"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_NE(finished.out.find("\"steps\": 20"), std::string::npos) << finished.out;
  EXPECT_TRUE(std::filesystem::exists(scratch.file("run/report.html")));
}

TEST(WithoutTorch, PhantomVariantsAreCompared) {
  ScratchDir scratch;
  scratch.write("job.toml", kPhantomJob);
  const Finished finished = motley(scratch, {"compare", "job.toml", "--simulate", "--out", "runs"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(std::filesystem::exists(scratch.file("runs/adaptive/summary.json")));
}

TEST(WithoutTorch, JobsAndMethodsAreShown) {
  ScratchDir scratch;
  scratch.write("job.toml", kComputingJob);
  const Finished config = motley(scratch, {"config", "job.toml"});
  EXPECT_EQ(config.code, 0) << config.err;
  EXPECT_NE(config.out.find("kind = \"mlp\""), std::string::npos) << config.out;
  const Finished keys = motley(scratch, {"config", "--keys"});
  EXPECT_EQ(keys.code, 0) << keys.err;
  EXPECT_NE(keys.out.find("| `train.batch` |"), std::string::npos) << keys.out;
  const Finished strategies = motley(scratch, {"strategies"});
  EXPECT_EQ(strategies.code, 0) << strategies.err;
  EXPECT_NE(strategies.out.find("all_reduce"), std::string::npos) << strategies.out;
}

}  // namespace
}  // namespace motley
