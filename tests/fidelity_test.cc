// The same paced jobs, real and simulated: simulated seconds equal those of the machine.
//
// A busy machine makes a real run slower, never faster. So a job is measured up to kAttempts times
// until it agrees. A run whose workers could not keep their pace proves nothing; if all runs are
// like that, the test fails for that reason.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "motley/sync/method.h"
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

// A million parameters: moving them is a good part of a step. How good depends on the machine, so
// computing takes as long as one of kUnits.
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
speeds = [1, 1, 1, 0.8]
)";
constexpr std::array kUnits = {"cluster.unit=14e-3", "cluster.unit=8e-3", "cluster.unit=5e-3"};
constexpr double kHeavyEnough = 1.1;

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

  void simulate_on_calibrated_links(Trial& trial, const std::string& job) {
    Settings unlimited = trial.settings;
    unlimited.insert(unlimited.end(), {"cluster.latency=0", "cluster.bandwidth=1e15"});
    const double computing = result_of(*start("simulate", job, unlimited)).at("seconds");
    const Json links = result_of(*start("calibrate", job, trial.settings));
    Settings calibrated = trial.settings;
    for (const auto& [key, value] : links.items()) {
      calibrated.push_back(fmt::format("cluster.{}={}", key, value.dump()));
    }
    trial.simulated = result_of(*start("simulate", job, calibrated)).at("seconds");
    trial.beside_computing = trial.simulated / computing;
  }

  // Lets computing take the longest unit with which messages still count.
  void make_heavy(Trial& trial, const std::string& job) {
    const Settings settings = trial.settings;
    for (const char* unit : kUnits) {
      trial.settings = settings;
      trial.settings.push_back(unit);
      simulate_on_calibrated_links(trial, job);
      if (trial.beside_computing >= 1.05 * kHeavyEnough) {
        return;
      }
    }
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
      {"adaptive", {"strategy.allocation=adaptive", "cluster.unit=2e-3", "train.steps=28"}},
      {"staleness", {"strategy.sync=hop", "strategy.hop.mode=staleness", "train.steps=36"}},
      {"skipping",
       {"strategy.sync=hop", "strategy.hop.mode=backup", "strategy.hop.max_gap=5",
        "strategy.hop.max_jump=10", "train.steps=42"}},
  };
  for (const Method* method : methods()) {
    trials.push_back({std::string(method->name()),
                      {fmt::format("strategy.sync={}", method->name()), "train.steps=40"}});
  }
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
    make_heavy(trial, job);
    for (int attempt = 0; attempt < kAttempts && !trial.agrees; ++attempt) {
      simulate_on_calibrated_links(trial, job);
      evaluate(trial, result_of(*start("train", job, trial.settings)), kTolerance);
    }
    report(trial, kTolerance);
    EXPECT_GE(trial.beside_computing, kHeavyEnough)
        << trial.name << ": too little to say anything of links";
  }
}

}  // namespace
}  // namespace motley
