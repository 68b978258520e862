// What happens to a real run when its processes are killed, stopped or told to end: it ends in
// time, says who failed and why, and leaves no process running and no file incomplete.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

// On a machine that does much else.
constexpr auto kSoon = 10s;

// Long enough to be interrupted, and evaluated early enough to show that training has begun.
constexpr const char* kJob = R"(
name = "long"
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 2000
test_samples = 100
features = 20
[train]
batch = 64
steps = 100000
eval_every = 5
[cluster]
workers = 3
unit = 1e-4
heartbeat = 2.0
elastic = false
)";

// Two workers wait nearly all the time for a third, which is much slower.
constexpr const char* kWaiting = R"(
[strategy]
sync = "partial_reduce"
partial_reduce.group = 3
)";

class Failure : public testing::Test {
 protected:
  explicit Failure(const std::string& job = kJob)
      : out_(scratch_.file("run")),
        process_({MOTLEY_PROGRAM, "train", scratch_.write("job.toml", job), "--out", out_}) {
    EXPECT_TRUE(eventually([&] { return fs::exists(out_ + "/metrics.jsonl"); }));
    workers_ = children_of(process_.pid());
    EXPECT_EQ(workers_.size(), 3U);
  }

  // Every file is complete, and there are no files besides the documented ones.
  void expect_nothing_half_written() {
    for (const auto& entry : fs::directory_iterator(out_)) {
      const std::string name = entry.path().filename();
      const std::vector<std::string> known = {"checkpoints",  "job.toml",    "metrics.jsonl",
                                              "model.pt",     "record.json", "report.html",
                                              "summary.json", "trace.json"};
      EXPECT_TRUE(std::ranges::count(known, name) == 1 || name.starts_with("events.out.tfevents."))
          << name;
    }
    if (fs::exists(out_ + "/checkpoints")) {
      EXPECT_EQ(run({MOTLEY_PROGRAM, "state", out_}).err, "");
    }
    for (const char* file : {"/record.json", "/trace.json"}) {
      EXPECT_TRUE(nlohmann::json::accept(read_file(out_ + file))) << file;
    }
    EXPECT_TRUE(read_file(out_ + "/report.html").ends_with("</html>\n"));
    std::istringstream lines(read_file(out_ + "/metrics.jsonl"));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_TRUE(nlohmann::json::accept(line)) << line;
    }
  }

  void expect_no_workers_left() {
    EXPECT_TRUE(
        eventually([&] { return std::none_of(workers_.begin(), workers_.end(), is_running); }));
  }

  void expect_the_killed_one_to_be_named(pid_t worker) {
    const auto began = std::chrono::steady_clock::now();
    kill(worker, SIGKILL);
    const Finished finished = process_.wait();
    EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon);
    EXPECT_EQ(finished.code, 1);
    EXPECT_NE(finished.err.find("(pid " + std::to_string(worker) + ") was killed by signal 9"),
              std::string::npos)
        << finished.err;
    EXPECT_NE(finished.err.find("worker "), std::string::npos);
    expect_no_workers_left();
    expect_nothing_half_written();
    EXPECT_FALSE(fs::exists(out_ + "/summary.json"));
    expect_last_model(finished.err);
  }

  // The model that arrived last, which may be newer than the last one in metrics.jsonl.
  void expect_last_model(const std::string& err) {
    const std::string before = "motley: the model of step ";
    const std::size_t at = err.find(before);
    ASSERT_NE(at, std::string::npos) << err;
    char* rest = nullptr;
    const long step = std::strtol(err.c_str() + at + before.size(), &rest, 10);
    EXPECT_TRUE(std::string_view(rest).starts_with(" is in " + out_ + "/model.pt\n")) << err;
    EXPECT_GE(step, last_metric()["step"].get<long>());
    EXPECT_TRUE(read_file(out_ + "/model.pt").starts_with("PK"));  // a zip, as torch writes it
  }

  nlohmann::json last_metric() const {
    std::istringstream lines(read_file(out_ + "/metrics.jsonl"));
    std::string last;
    for (std::string line; std::getline(lines, line);) {
      last = line;
    }
    return nlohmann::json::parse(last);
  }

  void expect_sigint_to_stop_in_order() {
    process_.signal(SIGINT);
    const Finished finished = process_.wait();
    EXPECT_EQ(finished.code, 130) << finished.err;
    const auto summary = nlohmann::json::parse(read_file(out_ + "/summary.json"));
    EXPECT_EQ(summary["stopped"], "SIGINT");
    EXPECT_GT(summary["samples"], 0);
    EXPECT_TRUE(fs::exists(out_ + "/model.pt"));
    expect_no_workers_left();
    expect_nothing_half_written();
  }

  ScratchDir scratch_;
  const std::string out_;
  Process process_;
  std::vector<pid_t> workers_;
};

// The same on a graph, and with a second thread of a worker that answers the others.
constexpr const char* kOnAGraph = R"(
[strategy]
sync = "hop"
hop.mode = "backup"
hop.max_gap = 5
hop.max_jump = 5
)";
constexpr const char* kGossip = R"(
[strategy]
sync = "ad_psgd"
)";

class FailureOnAGraph : public Failure {
 protected:
  FailureOnAGraph() : Failure(std::string(kJob) + "speeds = [1, 1, 0.02]\n" + kOnAGraph) {}
};
class FailureInGossip : public Failure {
 protected:
  FailureInGossip() : Failure(std::string(kJob) + kGossip) {}
};
class FailureInAGroup : public Failure {
 protected:
  FailureInAGroup() : Failure(std::string(kJob) + "speeds = [1, 1, 0.02]\n" + kWaiting) {}
};

TEST_F(Failure, AKilledWorkerEndsTheRunAndIsNamed) {
  expect_the_killed_one_to_be_named(workers_[1]);
}

TEST_F(FailureInAGroup, AKilledWorkerEndsTheRunAndIsNamed) {
  expect_the_killed_one_to_be_named(workers_[0]);
}

TEST_F(FailureOnAGraph, AKilledWorkerEndsTheRunAndIsNamed) {
  expect_the_killed_one_to_be_named(workers_[0]);
}

TEST_F(FailureInGossip, AKilledWorkerEndsTheRunAndIsNamed) {
  expect_the_killed_one_to_be_named(workers_[1]);
}

TEST_F(Failure, AStoppedWorkerIsNamedByItsSilence) {
  kill(workers_[2], SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  const Finished finished = process_.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon);
  EXPECT_EQ(finished.code, 1);
  EXPECT_NE(
      finished.err.find("(pid " + std::to_string(workers_[2]) + ") gave no sign of life for 2 s"),
      std::string::npos)
      << finished.err;
  expect_no_workers_left();
}

TEST_F(Failure, SigintStopsInOrderAndSaves) { expect_sigint_to_stop_in_order(); }

TEST_F(FailureInAGroup, SigintStopsInOrderAndSaves) { expect_sigint_to_stop_in_order(); }

TEST_F(Failure, SigtermStopsInOrderAndSaves) {
  process_.signal(SIGTERM);
  const Finished finished = process_.wait();
  EXPECT_EQ(finished.code, 143) << finished.err;
  EXPECT_TRUE(nlohmann::json::accept(read_file(out_ + "/summary.json")));
  expect_no_workers_left();
}

TEST_F(Failure, TheSecondSignalDoesNotWait) {
  kill(workers_[0], SIGSTOP);  // so that a clean stop is impossible
  // Two signals at once may count as one, so send them until it ends, as a user would.
  EXPECT_TRUE(eventually([&] {
    process_.signal(SIGINT);
    return !is_running(process_.pid());
  }));
  const Finished finished = process_.wait();
  EXPECT_EQ(finished.code, 130) << finished.err;
  EXPECT_NE(finished.err.find("the final model was not saved"), std::string::npos) << finished.err;
  expect_no_workers_left();
  expect_nothing_half_written();
}

TEST_F(Failure, WorkersDoNotOutliveAKilledCoordinator) {
  process_.signal(SIGKILL);
  process_.wait();
  expect_no_workers_left();
}

// The run directory exists before the first worker: the signal comes while they start.
// A worker that has too little memory for torch says so, and the coordinator too.
TEST(StartUp, AWorkerWithoutMemoryIsNamed) {
  ScratchDir scratch;
  const std::string out = scratch.file("run");
  Process process({MOTLEY_PROGRAM, "train", scratch.write("job.toml", kJob), "--out", out, "--set",
                   "cluster.workers=1", "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(eventually([&] { return fs::exists(out + "/rendezvous.json"); }));
  const auto run_at = nlohmann::json::parse(read_file(out + "/rendezvous.json"));
  const std::string script =
      fmt::format("ulimit -v 300000; MOTLEY_TOKEN={} exec \"$0\" worker --join {}",
                  run_at.at("token").get<std::string>(), run_at.at("address").get<std::string>());
  const Finished worker = run({"/bin/bash", "-c", script, MOTLEY_PROGRAM});
  EXPECT_EQ(worker.code, 1);
  EXPECT_EQ(std::count(worker.err.begin(), worker.err.end(), '\n'), 1) << worker.err;
  EXPECT_NE(worker.err.find("(this process may use 292 MB: ulimit -v)"), std::string::npos)
      << worker.err;
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 1);
  EXPECT_NE(finished.err.find("worker 0 (pid "), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("(this process may use 292 MB: ulimit -v)"), std::string::npos)
      << finished.err;
}

// Who dies when, in a run whose workers are started elsewhere: nobody here could do it.
TEST(StartUp, FaultsOfWorkersThatAreStartedElsewhereAreRefused) {
  ScratchDir scratch;
  const std::string job = scratch.write("job.toml", kJob);
  const std::pair<const char*, const char*> cases[] = {
      {"cluster.event=[{at=1,kind='dies',worker=0}]",
       "--listen: the cluster.event of kind \"dies\" at 1 s is only for workers started here"},
      {"cluster.churn={mtbf=1,mttr=1}", "--listen: cluster.churn is only for workers started here"},
  };
  for (const auto& [setting, message] : cases) {
    const Finished finished =
        run({MOTLEY_PROGRAM, "train", job, "--set", setting, "--listen", "127.0.0.1:0"},
            scratch.path());
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.err, std::string("motley: ") + message + "\n");
    EXPECT_FALSE(fs::exists(scratch.file("runs")));
  }
}

TEST(StartUp, SigintIsNotLost) {
  ScratchDir scratch;
  const std::string out = scratch.file("run");
  // On a busy machine a worker that starts may be silent for longer than the job's heartbeat.
  Process process({MOTLEY_PROGRAM, "train", scratch.write("job.toml", kJob), "--out", out, "--set",
                   "cluster.heartbeat=30"});
  ASSERT_TRUE(eventually([&] { return fs::exists(out + "/job.toml"); }));
  process.signal(SIGINT);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 130);
  ASSERT_TRUE(fs::exists(out + "/summary.json")) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(out + "/summary.json"))["stopped"], "SIGINT");
}

TEST(Simulation, SigintStopsInOrderAndSaves) {
  ScratchDir scratch;
  const std::string out = scratch.file("run");
  Process process({MOTLEY_PROGRAM, "simulate", scratch.write("job.toml", kJob), "--out", out});
  ASSERT_TRUE(eventually([&] { return fs::exists(out + "/metrics.jsonl"); }));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait().code, 130);
  EXPECT_EQ(nlohmann::json::parse(read_file(out + "/summary.json"))["stopped"], "SIGINT");
}

}  // namespace
}  // namespace motley
