// The program goes on from checkpoints (--resume): simulated runs end with the same bytes as the
// run that wrote the checkpoint, and what cannot be resumed is refused in one line.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = R"(
name = "small"
[model]
kind = "phantom"
parameters = 1000
[data]
kind = "synthetic"
samples = 1000
[train]
batch = 50
steps = 40
eval_every = 5
checkpoint_every = 7
checkpoint_keep = 9
[strategy]
allocation = "adaptive"
[cluster]
unit = 1e-4
speeds = [1, 1, 0.5, 0.25]
[[variant]]
name = "equal"
strategy.allocation = "equal"
[[variant]]
name = "adaptive"
)";

class ResumeRun : public testing::Test {
 protected:
  ResumeRun() { scratch_.write("job.toml", kJob); }

  Finished motley(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), MOTLEY_PROGRAM);
    return run(arguments, scratch_.path());
  }

  // A run with checkpoints of steps 7, 14, 21, 28, 35 and 40.
  void make(const std::string& name) const {
    const Finished finished =
        motley({"simulate", "job.toml", "--out", name, "--quiet", "--no-trace"});
    ASSERT_EQ(finished.code, 0) << finished.err;
  }
  void copy(const std::string& from, const std::string& to) const {
    fs::copy(scratch_.file(from), scratch_.file(to), fs::copy_options::recursive);
  }
  std::string text(const std::string& file) const { return read_file(scratch_.file(file)); }
  nlohmann::json summary(const std::string& name) const {
    return nlohmann::json::parse(text(name + "/summary.json"));
  }
  std::vector<std::string> checkpoints(const std::string& name) const {
    std::vector<std::string> steps;
    for (const auto& each : fs::directory_iterator(scratch_.file(name + "/checkpoints"))) {
      steps.push_back(each.path().filename());
    }
    std::ranges::sort(steps);
    return steps;
  }

  void expect_refused(const std::vector<std::string>& arguments, const std::string& why) const {
    const Finished finished = motley(arguments);
    EXPECT_EQ(finished.code, 2) << testing::PrintToString(arguments);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_NE(finished.err.find(why), std::string::npos) << finished.err;
  }

  ScratchDir scratch_;
};

TEST_F(ResumeRun, EveryCheckpointLeadsToTheSameEnd) {
  make("whole");
  for (const std::string step : {"7", "14", "21", "28", "35"}) {
    const std::string name = "from" + step;
    copy("whole", name);
    const std::string from = name + "/checkpoints/" + step;
    const Finished finished = motley({"simulate", "--resume", from, "--json"});
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_NE(finished.err.find("going on after step " + step), std::string::npos) << finished.err;
    nlohmann::json expected = summary("whole");
    expected["resumed_from"] = from;
    EXPECT_EQ(summary(name), expected);
    EXPECT_EQ(text(name + "/job.toml"), text("whole/job.toml"));
    EXPECT_EQ(checkpoints(name), checkpoints("whole"));
    EXPECT_NE(text(name + "/record.json").find("\"resumption\""), std::string::npos);
  }
}

// The record has no place for a worker beyond those of the job; summary and report are written all
// the same.
TEST_F(ResumeRun, ARunWithNewcomersIsRecorded) {
  scratch_.write("more.toml",
                 std::string(kJob).substr(0, std::string_view(kJob).find("[[variant]]")) +
                     "[[cluster.event]]\nat = 0.01\nworker = 4\nkind = 'joins'\n"
                     "[[cluster.event]]\nat = 0.02\nworker = 65535\nkind = 'joins'\n"
                     "[[cluster.event]]\nat = 0.03\nworker = 1\nkind = 'dies'\n");
  const Finished finished = motley({"simulate", "more.toml", "--out", "more", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const nlohmann::json found = summary("more");
  EXPECT_EQ(found["samples"], 2000);
  EXPECT_EQ(found["members"].size(), 6U);
  EXPECT_EQ(found["per_worker"].back()["rank"], 65535);
  std::int64_t samples = 0;
  for (const char* const list : {"per_worker", "former_workers"}) {
    for (const auto& worker : found[list]) {
      samples += worker["samples"].get<std::int64_t>();
    }
  }
  EXPECT_LE(samples, 2000);
  EXPECT_GE(samples, 2000 - 50) << "but for the step in which worker 1 was lost";
}

TEST_F(ResumeRun, AnotherDirectoryLeavesTheFirstAsItIs) {
  make("whole");
  const std::string before = text("whole/summary.json");
  const Finished finished =
      motley({"simulate", "--resume", "whole/checkpoints/14", "--out", "other", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(text("whole/summary.json"), before);
  EXPECT_EQ(checkpoints("whole").size(), 6U);
  EXPECT_EQ(checkpoints("other").size(), 4U);  // 21, 28, 35, 40
  EXPECT_EQ(summary("other")["seconds"], summary("whole")["seconds"]);
}

TEST_F(ResumeRun, TheJobMayChangeWhereThatMakesSense) {
  make("whole");
  expect_refused({"simulate", "--resume", "whole"}, "the run is complete after 2000 samples");
  const Finished longer =
      motley({"simulate", "--resume", "whole", "--set", "train.steps=50", "--quiet"});
  ASSERT_EQ(longer.code, 0) << longer.err;
  EXPECT_EQ(summary("whole")["steps"], 50);
  EXPECT_EQ(summary("whole")["checkpoints"], 9);
  EXPECT_EQ(summary("whole")["resumed_from"], "whole/checkpoints/40");
  const std::string before = text("whole/summary.json");
  for (const std::string key : {"seed", "train.batch", "model.parameters", "data.samples"}) {
    expect_refused(
        {"simulate", "--resume", "whole", "--set", "train.steps=60", "--set", key + "=77"},
        "--resume: " + key + " is 77, but the run to go on with has ");
  }
  EXPECT_EQ(text("whole/summary.json"), before);
}

// A resolved job has a speed for every worker.
TEST_F(ResumeRun, OtherWorkersNeedNoOtherSpeeds) {
  make("whole");
  for (const int workers : {3, 6}) {
    const std::string name = fmt::format("with{}", workers);
    copy("whole", name);
    const Finished finished = motley({"simulate", "--resume", name + "/checkpoints/21", "--quiet",
                                      "--set", fmt::format("cluster.workers={}", workers)});
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_EQ(summary(name)["workers"], workers);
    EXPECT_NE(
        text(name + "/job.toml")
            .find(workers == 3 ? "speeds = [1, 1, 0.5]\n" : "speeds = [1, 1, 0.5, 0.25, 1, 1]\n"),
        std::string::npos);
  }
  expect_refused({"simulate", "--resume", "whole/checkpoints/21", "--set", "cluster.workers=3",
                  "--set", "cluster.speeds=[1, 1]"},
                 "cluster.speeds has 2 entries, but cluster.workers is 3");
  expect_refused({"simulate", "--resume", "whole/checkpoints/21", "--set", "cluster.workers=0"},
                 "cluster.workers is 0");
}

TEST_F(ResumeRun, TheCurrentDirectoryMayBeInsideTheRun) {
  make("whole");
  for (const auto& [place, where] : std::vector<std::pair<std::string, std::string>>{
           {".", "whole/checkpoints"},
           {"whole", "."},
           {"whole", "checkpoints"},
           {"whole", "checkpoints/28"},
           {"whole/checkpoints", "28"},
           {"whole/checkpoints", "."},
           {"whole/checkpoints", "../checkpoints/28"}}) {
    fs::remove(scratch_.file("whole/summary.json"));
    fs::remove_all(scratch_.file("whole/checkpoints/40"));
    const Finished finished =
        run({MOTLEY_PROGRAM, "simulate", "--resume", where, "--quiet"}, scratch_.file(place));
    EXPECT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(fs::exists(scratch_.file("whole/summary.json"))) << place << " " << where;
  }
  EXPECT_FALSE(fs::exists(scratch_.file("whole/runs")));
}

TEST_F(ResumeRun, WhatIsNotWholeIsRefused) {
  make("whole");
  const auto damage = [&](const std::string& name, const std::string& file,
                          const std::function<void(std::string&)>& change) {
    copy("whole/checkpoints/21", name);
    std::string contents = text(name + "/" + file);
    change(contents);
    scratch_.write(name + "/" + file, contents);
  };
  damage("short", "state.json", [](std::string& all) { all.resize(all.size() / 2); });
  damage("flipped", "state.json", [](std::string& all) { all[all.size() / 3] ^= 1; });
  damage("tensors", "tensors.safetensors", [](std::string& all) { all += " "; });
  damage("foreign", "state.json", [](std::string& all) { all = "{\"hello\": 1}\n"; });
  damage("newer", "state.json",
         [](std::string& all) { all.replace(all.find("\"version\": 1"), 12, "\"version\": 9"); });
  for (const std::string name : {"short", "flipped", "tensors", "foreign", "newer"}) {
    expect_refused({"simulate", "--resume", name}, name + "/");
    expect_refused({"state", name}, name + "/");
  }
  expect_refused({"simulate", "--resume", "newer"}, "version");
  expect_refused({"train", "--resume", "whole"}, "was written by `motley simulate`");
  expect_refused({"simulate", "--resume", "nowhere"}, "nowhere: no such directory");
  expect_refused({"simulate", "--resume", "latest"}, "no run in runs has a checkpoint");
  expect_refused({"simulate"}, "JOB is required");
  expect_refused({"compare"}, "JOB is required");
  expect_refused({"compare", "--resume", "whole"}, "is not the directory of a comparison");
}

TEST_F(ResumeRun, ANewestThatIsDamagedIsPassedOver) {
  make("whole");
  scratch_.write("whole/checkpoints/40/state.json", "{}");
  const Finished finished = motley({"simulate", "--resume", "whole", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_NE(finished.err.find("passed over: whole/checkpoints/40/state.json"), std::string::npos)
      << finished.err;
  EXPECT_EQ(summary("whole")["resumed_from"], "whole/checkpoints/35");
}

TEST_F(ResumeRun, TheLatestRunIsFound) {
  make("runs/first");
  make("runs/second");
  fs::remove_all(scratch_.file("runs/second/checkpoints/40"));
  const Finished finished = motley({"simulate", "job.toml", "--resume", "latest", "--quiet"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(summary("runs/second")["resumed_from"], "runs/second/checkpoints/35");
}

TEST_F(ResumeRun, AComparisonGoesOn) {
  const Finished first = motley({"compare", "job.toml", "--simulate", "--out", "both", "--quiet"});
  ASSERT_EQ(first.code, 0) << first.err;
  const auto expected = nlohmann::json::parse(text("both/compare.json"));
  fs::remove(scratch_.file("both/adaptive/summary.json"));  // as if it had been killed
  fs::remove_all(scratch_.file("both/adaptive/checkpoints/40"));
  const Finished again = motley({"compare", "--simulate", "--resume", "both", "--quiet"});
  ASSERT_EQ(again.code, 0) << again.err;
  auto all = nlohmann::json::parse(text("both/compare.json"));
  EXPECT_EQ(all[0], expected[0]);
  EXPECT_EQ(all[1]["resumed_from"], "both/adaptive/checkpoints/35");
  all[1]["resumed_from"] = nullptr;
  EXPECT_EQ(all, expected);
}

TEST_F(ResumeRun, StateShowsWhatACheckpointHolds) {
  make("whole");
  const Finished words = motley({"state", "whole"});
  EXPECT_EQ(words.code, 0) << words.err;
  EXPECT_NE(words.out.find("step 40, 2000 samples"), std::string::npos) << words.out;
  const Finished json = motley({"state", "whole/checkpoints/14", "--json"});
  const auto state = nlohmann::json::parse(json.out);
  EXPECT_EQ(state["method"], "all_reduce");
  EXPECT_EQ(state["workers"], 4);
  EXPECT_EQ(state["step"], 14);
  EXPECT_EQ(state["samples"], 700);
  EXPECT_TRUE(state["tensors"].is_array());
}

}  // namespace
}  // namespace motley
