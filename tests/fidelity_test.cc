// The same paced jobs, real and simulated: simulated seconds equal those of the machine.
//
// A busy machine makes a real run slower, never faster. So a job is measured up to kAttempts times
// until it agrees. A run whose workers could not keep their pace proves nothing; if all runs are
// like that, the test fails for that reason.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;
using Settings = std::vector<std::string>;

constexpr int kAttempts = 5;
constexpr double kMostMissed = 0.02;  // share of a worker's steps

// Computing dominates: a step takes tens of milliseconds, its messages less than one.
constexpr const char* kPaced = R"(
[model]
kind = "svm"
[data]
kind = "synthetic"
features = 2000
samples = 2000
test_samples = 100
[train]
batch = 128
eval_every = 0
lr = 0.01
[cluster]
workers = 4
unit = 1e-3
speeds = [1, 0.8, 0.5, 0.4]
)";

// A million parameters: moving them is a good part of a step.
constexpr const char* kHeavy = R"(
[model]
kind = "svm"
[data]
kind = "synthetic"
features = 50000
classes = 20
samples = 200
test_samples = 10
[train]
batch = 4
eval_every = 0
lr = 0.001
momentum = 0
[cluster]
workers = 4
unit = 14e-3
speeds = [1, 1, 1, 0.8]
)";

struct Trial {
  std::string name;
  Settings settings;
  double simulated = 0;
  double beside_computing = 0;  // simulated seconds relative to the same job on unlimited links
  std::string seen = "";        // the measurements, for messages
  bool has_evidence = false;
  bool agrees = false;
};

class Fidelity : public testing::Test {
 protected:
  std::unique_ptr<Process> start(const char* command, const std::string& job,
                                 const Settings& settings) {
    std::vector<std::string> line{MOTLEY_PROGRAM, command, job, "--json"};
    if (std::string(command) != "calibrate") {
      line.insert(line.end(), {"--quiet", "--out", scratch_.file(fmt::format("{}", runs_++))});
    }
    for (const std::string& setting : settings) {
      line.insert(line.end(), {"--set", setting});
    }
    return std::make_unique<Process>(line);
  }

  static Json result_of(Process& process) {
    const Finished finished = process.wait();
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished.code == 0 ? Json::parse(finished.out) : Json::object();
  }

  // Adds one measurement to the trial.
  static void evaluate(Trial& trial, const Json& real, double tolerance) {
    double missed = 0;
    for (const Json& worker : real.value("per_worker", Json::array())) {
      missed = std::max(missed, worker.value("pace_missed", 0.0));
    }
    const double ratio = real.value("seconds", 0.0) / trial.simulated;
    const bool is_evidence = missed <= kMostMissed;
    trial.seen += fmt::format(" {:.3f} ({:.1f} % of a worker's steps missed their pace{})", ratio,
                              100 * missed, is_evidence ? "" : ": no evidence");
    trial.has_evidence |= is_evidence;
    trial.agrees |= is_evidence && std::abs(ratio - 1) <= tolerance;
  }

  static void report(const Trial& trial, double tolerance) {
    testing::Test::RecordProperty(trial.name, trial.seen);
    EXPECT_TRUE(trial.has_evidence)
        << trial.name << ": this machine was too busy to hold the pace, so nothing was measured;"
        << " real / simulated seconds:" << trial.seen;
    EXPECT_TRUE(trial.agrees || !trial.has_evidence)
        << fmt::format(
               "{}: simulated {:.3f} s; real / simulated seconds should be 1 within {}, but were:",
               trial.name, trial.simulated, tolerance)
        << trial.seen;
  }

  ScratchDir scratch_;
  int runs_ = 0;
};

// Paced workers sleep nearly all the time, so two runs may go at once.
template <class Action>
void two_at_a_time(std::vector<Trial>& trials, const Action& action) {
  for (std::size_t i = 0; i < trials.size(); i += 2) {
    action(trials[i], i + 1 < trials.size() ? &trials[i + 1] : nullptr);
  }
}

TEST_F(Fidelity, WhereComputingDominates) {
  constexpr double kTolerance = 0.05;
  const std::string job = scratch_.write("job.toml", kPaced);
  std::vector<Trial> trials = {
      {"equal", {"train.steps=30"}},
      {"adaptive", {"strategy.allocation=adaptive", "cluster.unit=2e-3", "train.steps=28"}},
      {"partial_reduce", {"strategy.sync=partial_reduce", "train.steps=54"}},
      {"staleness", {"strategy.sync=hop", "strategy.hop.mode=staleness", "train.steps=36"}},
      {"skipping",
       {"strategy.sync=hop", "strategy.hop.mode=backup", "strategy.hop.max_gap=5",
        "strategy.hop.max_jump=10", "train.steps=42"}},
      {"ashl", {"strategy.sync=ashl", "train.steps=54"}},
  };
  const auto run_both = [&](const char* command, Trial& one, Trial* other, const auto& take) {
    const auto first = start(command, job, one.settings);
    const auto second = other ? start(command, job, other->settings) : nullptr;
    take(one, result_of(*first));
    if (second) {
      take(*other, result_of(*second));
    }
  };
  two_at_a_time(trials, [&](Trial& one, Trial* other) {
    run_both("simulate", one, other,
             [](Trial& trial, const Json& result) { trial.simulated = result.at("seconds"); });
  });
  std::vector<Trial> open = std::move(trials);
  for (int attempt = 0; attempt < kAttempts && !open.empty(); ++attempt) {
    two_at_a_time(open, [&](Trial& one, Trial* other) {
      run_both("train", one, other,
               [&](Trial& trial, const Json& result) { evaluate(trial, result, kTolerance); });
    });
    std::erase_if(open, [&](const Trial& trial) {
      if (trial.agrees) {
        report(trial, kTolerance);
      }
      return trial.agrees;
    });
  }
  for (const Trial& trial : open) {
    report(trial, kTolerance);
  }
}

// With the links that `motley calibrate` finds. They are measured again in every attempt, because a
// measurement can be disturbed.
TEST_F(Fidelity, WhereMessagesAreHeavyOnCalibratedLinks) {
  constexpr double kTolerance = 0.15;
  const std::string job = scratch_.write("job.toml", kHeavy);
  std::vector<Trial> trials = {
      {"equal", {"train.steps=100"}},
      {"partial_reduce", {"strategy.sync=partial_reduce", "train.steps=100"}},
  };
  for (Trial& trial : trials) {
    Settings unlimited = trial.settings;
    unlimited.insert(unlimited.end(), {"cluster.latency=0", "cluster.bandwidth=1e15"});
    const double computing = result_of(*start("simulate", job, unlimited)).at("seconds");
    for (int attempt = 0; attempt < kAttempts && !trial.agrees; ++attempt) {
      const Json links = result_of(*start("calibrate", job, trial.settings));
      Settings calibrated = trial.settings;
      for (const char* key : {"latency", "bandwidth"}) {
        calibrated.push_back(fmt::format("cluster.{}={}", key, links.at(key).get<double>()));
      }
      trial.simulated = result_of(*start("simulate", job, calibrated)).at("seconds");
      trial.beside_computing = trial.simulated / computing;
      evaluate(trial, result_of(*start("train", job, trial.settings)), kTolerance);
    }
    report(trial, kTolerance);
    EXPECT_GE(trial.beside_computing, 1.1) << trial.name << ": too little to say anything of links";
  }
}

// calibrate writes into the job what it prints, and keeps the rest of the file.
TEST_F(Fidelity, CalibrateWritesIntoTheJob) {
  const std::string text = "# mine\n[model]\nkind = 'phantom'\nparameters = 1000 # few\n" +
                           std::string("[cluster] # two\nworkers = 2\nlatency = 7 # old\n");
  const std::string job = scratch_.write("job.toml", text);
  const Finished printed = run({MOTLEY_PROGRAM, "calibrate", job, "--write"});
  ASSERT_EQ(printed.code, 0) << printed.err;
  ASSERT_TRUE(printed.out.starts_with("[cluster]\n# motley calibrate: 2 workers: ")) << printed.out;
  const auto value = [&](const std::string& key) {
    const auto at = printed.out.find(key + " = ") + key.size() + 3;
    return printed.out.substr(at, printed.out.find('\n', at) - at);
  };
  EXPECT_EQ(read_file(job),
            fmt::format("# mine\n[model]\nkind = 'phantom'\nparameters = 1000 # few\n"
                        "[cluster] # two\nbandwidth = {}\nworkers = 2\nlatency = {} # old\n",
                        value("bandwidth"), value("latency")));
}

TEST_F(Fidelity, CalibrateRefusesInOneLine) {
  const std::string one = scratch_.write("one.toml", "[cluster]\nworkers = 1\n");
  const std::string each = scratch_.write(
      "each.toml", "[cluster]\nworkers = 2\nbandwidth = [1e9, 1e8]\n[[variant]]\nname = 'v'\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"--write"}, "motley: --write needs a job file\n"},
      {{one}, "motley: a single worker has no links: set cluster.workers to 2 or more\n"},
      {{scratch_.file("none.toml")}, "none.toml"},
      {{each, "--write"}, "has one bandwidth per worker, but only one for all workers is measured"},
      {{each, "--write", "--variant", "v"}, "--write cannot be used with --variant"},
      {{"/dev/null", "--write", "--set", "cluster.workers=2"}, "/dev/null is not a regular file"},
      {{"--set", "cluster.workers=65"}, "--set cluster.workers=64 or fewer"},
      {{"--set", "cluster.wrkers=3"}, "did you mean \"cluster.workers\""},
  };
  for (const auto& [arguments, message] : cases) {
    std::vector<std::string> command{MOTLEY_PROGRAM, "calibrate"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const Finished finished = run(command);
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_NE(finished.err.find(message), std::string::npos) << finished.err;
  }
}

TEST_F(Fidelity, AnInterruptedCalibrationLeavesNothing) {
  const std::string text = "[cluster]\nworkers = 2\n";
  const std::string job = scratch_.write("job.toml", text);
  Process process({MOTLEY_PROGRAM, "calibrate", job, "--write", "--set", "model.kind=phantom",
                   "--set", "model.parameters=1000"});
  std::vector<pid_t> workers;
  ASSERT_TRUE(eventually([&] {
    workers = children_of(process.pid());
    return workers.size() == 2;
  }));
  process.signal(SIGINT);
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 128 + SIGINT) << finished.err;
  EXPECT_EQ(finished.out, "");
  for (const pid_t worker : workers) {
    EXPECT_FALSE(is_running(worker));
  }
  EXPECT_EQ(read_file(job), text);
}

}  // namespace
}  // namespace motley
