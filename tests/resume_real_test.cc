// Real runs that are killed and go on: all_reduce with fixed shares ends with the same bytes as a
// run that nothing has disturbed.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/process.h"

namespace motley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kJob = R"(
name = "real"
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 2000
test_samples = 200
features = 20
[train]
batch = 64
steps = 120
eval_every = 10
checkpoint_every = 25
checkpoint_keep = 100
[cluster]
workers = 3
unit = 5e-4
)";

class ResumeReal : public testing::Test {
 protected:
  // Every optimizer has a state of its own.
  void make_job(const std::string& optimizer) {
    scratch_.write("job.toml", fmt::format("{}[strategy]\nsync = \"all_reduce\"\n", kJob));
    optimizer_ = "train.optimizer=" + optimizer;
  }
  std::vector<std::string> train(const std::string& out) const {
    return {MOTLEY_PROGRAM, "train", "job.toml", "--set", optimizer_, "--out", out, "--quiet"};
  }
  void expect_done(const std::vector<std::string>& command) const {
    const Finished finished = run(command, scratch_.path());
    ASSERT_EQ(finished.code, 0) << finished.err;
  }
  // Kills everything at once when the checkpoint is there.
  void kill_after(const std::string& out, const std::string& step) const {
    Process process(train(out), scratch_.path());
    ASSERT_TRUE(
        eventually([&] { return fs::exists(scratch_.file(out + "/checkpoints/" + step)); }));
    const std::vector<pid_t> workers = children_of(process.pid());
    process.signal(SIGKILL);
    std::ranges::for_each(workers, [](pid_t worker) { kill(worker, SIGKILL); });
    EXPECT_EQ(process.wait().code, 128 + SIGKILL);
    EXPECT_TRUE(eventually([&] { return std::ranges::none_of(workers, is_running); }));
  }

  std::string text(const std::string& file) const { return read_file(scratch_.file(file)); }
  nlohmann::json summary(const std::string& name) const {
    return nlohmann::json::parse(text(name + "/summary.json"));
  }
  // Without the seconds, which no two real runs share.
  std::vector<nlohmann::json> metrics(const std::string& name) const {
    std::istringstream lines(text(name + "/metrics.jsonl"));
    std::vector<nlohmann::json> all;
    double seconds = 0;
    for (std::string line; std::getline(lines, line);) {
      all.push_back(nlohmann::json::parse(line));
      EXPECT_GT(all.back()["seconds"], seconds);
      seconds = all.back()["seconds"];
      all.back().erase("seconds");
    }
    return all;
  }
  void expect_same(const std::string& name) const {
    EXPECT_EQ(text(name + "/model.pt"), text("whole/model.pt"));
    EXPECT_EQ(metrics(name), metrics("whole"));
    const nlohmann::json mine = summary(name);
    const nlohmann::json other = summary("whole");
    for (const char* key : {"samples", "steps", "final_loss", "terms", "checkpoints"}) {
      EXPECT_EQ(mine[key], other[key]) << key;
    }
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(mine["per_worker"][rank]["samples"], other["per_worker"][rank]["samples"]);
      EXPECT_EQ(mine["per_worker"][rank]["steps"], other["per_worker"][rank]["steps"]);
    }
  }

  ScratchDir scratch_;
  std::string optimizer_;
};

TEST_F(ResumeReal, ARunThatWasKilledEndsWithTheSameModel) {
  for (const std::string optimizer : {"sgd", "adam"}) {
    make_job(optimizer);
    expect_done(train("whole"));
    kill_after("killed", "50");
    expect_done({MOTLEY_PROGRAM, "train", "--resume", "killed", "--quiet"});
    expect_same("killed");
    fs::remove_all(scratch_.file("whole"));
    fs::remove_all(scratch_.file("killed"));
  }
}

TEST_F(ResumeReal, ItMayBeKilledAgainAndGoesOnFromAnyCheckpoint) {
  make_job("sgd");
  expect_done(train("whole"));
  kill_after("killed", "25");
  {
    Process again({MOTLEY_PROGRAM, "train", "--resume", "killed", "--quiet"}, scratch_.path());
    ASSERT_TRUE(eventually([&] { return fs::exists(scratch_.file("killed/checkpoints/75")); }));
    again.signal(SIGKILL);  // the workers notice
    again.wait();
  }
  const std::string from = "killed/checkpoints/50";
  expect_done({MOTLEY_PROGRAM, "train", "job.toml", "--set", optimizer_, "--resume", from});
  EXPECT_EQ(summary("killed")["resumed_from"], from);
  expect_same("killed");
}

// In virtual time, the seconds are the same, too.
TEST_F(ResumeReal, ASimulationEndsWithTheSameBytes) {
  make_job("sgd");
  for (const std::string method : {"all_reduce", "partial_reduce", "ps_ssp"}) {
    std::vector<std::string> command = train("whole");
    command[1] = "simulate";
    command.insert(command.end(), {"--set", "strategy.sync=" + method});
    expect_done(command);
    fs::copy(scratch_.file("whole"), scratch_.file("again"), fs::copy_options::recursive);
    expect_done({MOTLEY_PROGRAM, "simulate", "--resume", "again/checkpoints/75", "--quiet"});
    EXPECT_EQ(text("again/model.pt"), text("whole/model.pt")) << method;
    EXPECT_EQ(text("again/metrics.jsonl"), text("whole/metrics.jsonl")) << method;
    fs::remove_all(scratch_.file("whole"));
    fs::remove_all(scratch_.file("again"));
  }
}

// What SIGTERM saves is where the run goes on.
TEST_F(ResumeReal, AStoppedRunGoesOn) {
  make_job("sgd");
  Process process(train("stopped"), scratch_.path());
  ASSERT_TRUE(eventually([&] { return fs::exists(scratch_.file("stopped/metrics.jsonl")); }));
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait().code, 143);
  EXPECT_EQ(summary("stopped")["stopped"], "SIGTERM");
  expect_done({MOTLEY_PROGRAM, "train", "--resume", "stopped", "--quiet"});
  EXPECT_EQ(summary("stopped")["samples"], 120 * 64);
}

TEST_F(ResumeReal, ARunThatGoesOnElsewhereIsNotDisturbed) {
  make_job("sgd");
  expect_done(train("whole"));
  Process process(train("used"), scratch_.path());
  ASSERT_TRUE(eventually([&] { return fs::exists(scratch_.file("used/checkpoints/25")); }));
  process.signal(SIGSTOP);  // so that the run is not over before the others have tried
  for (const auto& command : {train("used"), {MOTLEY_PROGRAM, "train", "--resume", "used"}}) {
    const Finished finished = run(command, scratch_.path());
    EXPECT_EQ(finished.code, 2) << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_NE(finished.err.find("used: another run is using this directory"), std::string::npos)
        << finished.err;
  }
  process.signal(SIGCONT);
  EXPECT_EQ(process.wait().code, 0);
  expect_same("used");
}

TEST_F(ResumeReal, WhatDoesNotFitIsRefusedAndNothingChanges) {
  make_job("sgd");
  expect_done(train("whole"));
  const std::string before = text("whole/summary.json");
  for (const std::string change :
       {"train.lr=0.05", "train.optimizer=adam", "model.kind=svm", "data.features=21"}) {
    const Finished finished =
        run({MOTLEY_PROGRAM, "train", "--resume", "whole", "--set", change}, scratch_.path());
    EXPECT_EQ(finished.code, 2) << change << finished.err;
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  }
  EXPECT_EQ(text("whole/summary.json"), before);
  EXPECT_TRUE(fs::exists(scratch_.file("whole/model.pt")));
}

}  // namespace
}  // namespace motley
