// `motley compare` as a user runs it: the table, compare.json, and what remains after failures.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;

constexpr const char* kProgram = MOTLEY_PROGRAM;

// Phantom models, so that no test waits for torch.
constexpr const char* kPhantoms = R"(
name = "phantoms"
[model]
kind = "phantom"
parameters = 1000
[train]
batch = 64
steps = 20
[cluster]
workers = 4
unit = 1e-3
speeds = [1, 1, 1, 0.25]
[[variant]]
name = "equal"
[[variant]]
name = "adaptive"
strategy.allocation = "adaptive"
[[variant]]
name = "partial"
strategy.sync = "partial_reduce"
)";

// One variant's data is missing, which only its run finds out.
constexpr const char* kOneFails = R"(
[train]
batch = 64
steps = 2
[cluster]
workers = 2
unit = 1e-3
[[variant]]
name = "without_data"
data.kind = "idx"
data.path = "/nowhere/at/all"
[[variant]]
name = "with_data"
)";

std::vector<std::string> command(const ScratchDir& scratch, std::vector<std::string> more = {}) {
  std::vector<std::string> all{kProgram,     "compare", scratch.path() + "/job.toml",
                               "--simulate", "--out",   scratch.path() + "/out"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

Json result_of(const ScratchDir& scratch) {
  return Json::parse(read_file(scratch.path() + "/out/compare.json"));
}

TEST(Compare, RunsEveryVariantAndPutsThemSideBySide) {
  const ScratchDir scratch;
  scratch.write("job.toml", kPhantoms);
  const Finished done = run(command(scratch));
  ASSERT_EQ(done.code, 0) << done.err;
  const Json list = result_of(scratch);
  ASSERT_EQ(list.size(), 3);
  EXPECT_EQ(list[0]["name"], "equal");
  EXPECT_EQ(list[1]["strategy"]["allocation"], "adaptive");
  EXPECT_EQ(list[2]["strategy"]["sync"], "partial_reduce");
  for (const Json& each : list) {
    const std::string directory = scratch.path() + "/out/" + each["name"].get<std::string>();
    EXPECT_EQ(Json::parse(read_file(directory + "/summary.json")), each);
    EXPECT_NE(done.out.find("\n" + each["name"].get<std::string>()), std::string::npos);
  }
  EXPECT_NE(done.out.find("best: partial"), std::string::npos) << done.out;
}

TEST(Compare, AVariantAloneIsTheSameRun) {
  const ScratchDir scratch;
  scratch.write("job.toml", kPhantoms);
  ASSERT_EQ(run(command(scratch)).code, 0);
  const Finished alone = run({kProgram, "simulate", scratch.path() + "/job.toml", "--variant",
                              "partial", "--json", "--out", scratch.path() + "/alone"});
  ASSERT_EQ(alone.code, 0) << alone.err;
  EXPECT_EQ(Json::parse(alone.out), result_of(scratch)[2]);
}

TEST(Compare, AVariantThatFailsIsReportedInItsRowAndTheOthersGoOn) {
  const ScratchDir scratch;
  scratch.write("job.toml", kOneFails);
  const Finished done = run(command(scratch));
  EXPECT_EQ(done.code, 1);
  const Json list = result_of(scratch);
  ASSERT_EQ(list.size(), 2);
  EXPECT_EQ(list[0],
            Json({{"name", "without_data"}, {"error", "/nowhere/at/all: no such folder"}}));
  EXPECT_EQ(list[1]["samples"], 128);
  EXPECT_NE(done.out.find("/nowhere/at/all: no such folder\n"), std::string::npos) << done.out;
}

TEST(Compare, JsonIsAllThatIsPrinted) {
  const ScratchDir scratch;
  scratch.write("job.toml", kPhantoms);
  const Finished done = run(command(scratch, {"--json", "--quiet", "--jobs", "1"}));
  EXPECT_EQ(Json::parse(done.out), result_of(scratch));
  EXPECT_EQ(done.err, "");
}

// The first ones end at once, one would take hours. Workers with common steps must agree to stop;
// others get no more samples.
class InterruptedCompare : public testing::TestWithParam<const char*> {};

TEST_P(InterruptedCompare, CompareKeepsWhatIsFinished) {
  const ScratchDir scratch;
  scratch.write("job.toml", fmt::format(R"({}
[[variant]]
name = "endless"
strategy.sync = "{}"
train.steps = 1_000_000_000
[[variant]]
name = "never_begun"
)",
                                        kPhantoms, GetParam()));
  Process compare(command(scratch, {"--jobs", "1"}));
  // A run that has written its job handles signals by then.
  ASSERT_TRUE(eventually(
      [&] { return std::filesystem::exists(scratch.path() + "/out/endless/job.toml"); }));
  const auto children = children_of(compare.pid());
  compare.signal(SIGINT);
  EXPECT_EQ(compare.wait().code, 130);
  const Json list = result_of(scratch);
  EXPECT_TRUE(list[0].contains("samples_per_second"));
  EXPECT_EQ(list[3]["stopped"], "SIGINT");
  EXPECT_GT(list[3]["samples"], 0);
  EXPECT_EQ(list[4]["error"], "not run");
  EXPECT_TRUE(std::ranges::none_of(children, is_running));
}

INSTANTIATE_TEST_SUITE_P(Compare, InterruptedCompare,
                         testing::Values("all_reduce", "local_sgd", "ps_bsp", "partial_reduce"));

// Pending signals merge into one, so they are sent until a run that ignores the first has ended.
TEST(Compare, ManySignalsEndIt) {
  const ScratchDir scratch;
  scratch.write("job.toml", std::string(kPhantoms) + "train.steps = 1_000_000_000\n");
  Process compare(command(scratch));
  ASSERT_TRUE(eventually([&] { return !children_of(compare.pid()).empty(); }));
  const auto children = children_of(compare.pid());
  for (int i = 0; i < 5; ++i) {
    compare.signal(SIGTERM);
  }
  EXPECT_EQ(compare.wait().code, 128 + SIGTERM);
  EXPECT_TRUE(std::ranges::none_of(children, is_running));
}

TEST(Compare, ARunThatIsKilledIsReportedInItsRow) {
  const ScratchDir scratch;
  scratch.write("job.toml", std::string(kPhantoms) + "train.steps = 1_000_000_000\n");
  Process compare(command(scratch, {"--jobs", "3"}));
  ASSERT_TRUE(eventually(
      [&] { return std::filesystem::exists(scratch.path() + "/out/partial/job.toml"); }));
  std::vector<pid_t> endless;
  ASSERT_TRUE(eventually([&] {
    endless = children_of(compare.pid());
    return endless.size() == 1;  // the other two have ended
  }));
  kill(endless[0], SIGKILL);
  EXPECT_EQ(compare.wait().code, 1);
  EXPECT_EQ(result_of(scratch)[2]["error"], "was killed by signal 9 (Killed)");
}

// All runs read the copy that compare has made.
TEST(Compare, TheJobMayComeThroughAPipe) {
  const ScratchDir scratch;
  const std::string job = scratch.write("job.toml", kPhantoms);
  const Finished done =
      run({"/bin/sh", "-c",
           fmt::format("cat {} | {} compare /dev/stdin --simulate --quiet --out {}", job, kProgram,
                       scratch.path() + "/out")});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_EQ(read_file(scratch.path() + "/out/job.toml"), kPhantoms);
}

TEST(Compare, ClosedStandardFilesDoNotDisturbTheRuns) {
  const ScratchDir scratch;
  scratch.write("job.toml", kOneFails);
  const Finished done =
      run({"/bin/sh", "-c",
           fmt::format("{} compare {}/job.toml --simulate --quiet --out {}/out <&- 2>&-", kProgram,
                       scratch.path(), scratch.path())});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(result_of(scratch)[0]["error"], "/nowhere/at/all: no such folder");
}

TEST(Compare, RealRunsAreComparedToo) {
  const ScratchDir scratch;
  scratch.write("job.toml", R"(
[model]
kind = "svm"
[data]
kind = "synthetic"
samples = 512
features = 20
[train]
batch = 64
[cluster]
workers = 2
[[variant]]
name = "a"
[[variant]]
name = "b"
strategy.allocation = "adaptive"
)");
  const Finished done = run({kProgram, "compare", scratch.path() + "/job.toml", "--out",
                             scratch.path() + "/out", "--json", "--quiet"});
  ASSERT_EQ(done.code, 0) << done.err;
  const Json list = Json::parse(done.out);
  EXPECT_EQ(list[0]["mode"], "train");
  EXPECT_EQ(list[1]["samples"], 512);
}

TEST(Compare, WithoutVariantsIsBadInput) {
  const ScratchDir scratch;
  scratch.write("job.toml", "[cluster]\nunit = 1e-3\n");
  const Finished done = run(command(scratch));
  EXPECT_EQ(done.code, 2);
  EXPECT_NE(done.err.find("no [[variant]] to compare"), std::string::npos) << done.err;
  EXPECT_FALSE(std::filesystem::exists(scratch.path() + "/out"));
}

}  // namespace
}  // namespace motley
