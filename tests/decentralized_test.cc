// What averaging with neighbours gains: the time to the same training loss, and the final model. 16
// workers on the graph of Hop's paper, simulated, with the arithmetic of real models.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/random.h"
#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;
using Settings = std::vector<std::string>;

constexpr const char* kRandom = R"(
[[cluster.slowdown]]
kind = "random"
probability = 0.0625
factor = 6
)";
constexpr const char* kOneSlow = "speeds = [1, 1, 1, 0.25, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n";

const Settings kAllReduce{};
const Settings kStandard{"strategy.sync=hop", "strategy.hop.graph=ring_based"};
const Settings kBackup{"strategy.sync=hop", "strategy.hop.graph=ring_based",
                       "strategy.hop.mode=backup", "strategy.hop.max_gap=5"};
const Settings kSkipping{"strategy.sync=hop", "strategy.hop.graph=ring_based",
                         "strategy.hop.mode=backup", "strategy.hop.max_gap=5",
                         "strategy.hop.max_jump=10"};
const Settings kAdPsgd{"strategy.sync=ad_psgd"};

struct Trained {
  double accuracy = 0;
  std::vector<Json> metrics;

  // When its training loss first reached `loss`.
  double time_to(double loss) const {
    for (const Json& metric : metrics) {
      if (metric["train_loss"] <= loss) {
        return metric["seconds"];
      }
    }
    return std::numeric_limits<double>::infinity();
  }
};

class DecentralizedTraining {
 public:
  // `what` holds the model and data tables of a job.
  explicit DecentralizedTraining(std::string what) : what_(std::move(what)) {}

  // Runs the same job with each of these settings.
  std::vector<Trained> under(const std::string& machines, const std::vector<Settings>& variants) {
    const std::string job = scratch_.write("job.toml", what_ + kRest + machines);
    std::vector<std::string> outs;
    std::vector<std::unique_ptr<Process>> processes;
    for (const Settings& settings : variants) {
      outs.push_back(scratch_.file(fmt::format("run{}", runs_++)));
      std::vector<std::string> command{MOTLEY_PROGRAM, "simulate", job,
                                       "--json",       "--out",    outs.back()};
      for (const std::string& setting : settings) {
        command.insert(command.end(), {"--set", setting});
      }
      processes.push_back(std::make_unique<Process>(command));
    }
    std::vector<Trained> results;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      const Finished finished = processes[i]->wait();
      EXPECT_EQ(finished.code, 0) << finished.err;
      Trained& result = results.emplace_back();
      result.accuracy = Json::parse(finished.out)["final_accuracy"];
      std::istringstream lines(read_file(outs[i] + "/metrics.jsonl"));
      for (std::string line; std::getline(lines, line);) {
        result.metrics.push_back(Json::parse(line));
      }
    }
    return results;
  }

 private:
  static constexpr const char* kRest = R"(
[train]
batch = 128
steps = 200
eval_every = 5
momentum = 0
lr = 0.02
[cluster]
workers = 16
unit = 1e-3
)";

  ScratchDir scratch_;
  const std::string what_;
  int runs_ = 0;
};

// The loss after three quarters of the evaluations.
double late_loss(const Trained& trained) {
  return trained.metrics.at(trained.metrics.size() * 3 / 4)["train_loss"];
}

void expect_the_same_loss_sooner(DecentralizedTraining training) {
  // all_reduce ends with the same model, whichever worker is slow.
  const auto random = training.under(kRandom, {kAllReduce, kStandard, kBackup, kAdPsgd});
  const auto slow = training.under(kOneSlow, {kStandard, kSkipping});
  const double backup =
      random[1].time_to(late_loss(random[1])) / random[2].time_to(late_loss(random[1]));
  const double skipping = slow[0].time_to(late_loss(slow[0])) / slow[1].time_to(late_loss(slow[0]));
  EXPECT_GE(backup, 1.2);
  EXPECT_GE(skipping, 1.8);
  testing::Test::RecordProperty("ratio", fmt::format("{:.2f} {:.2f}", backup, skipping));
  for (const auto* runs : {&random, &slow}) {
    for (const Trained& trained : *runs) {
      EXPECT_GE(trained.accuracy, random.front().accuracy - 0.015);
    }
  }
}

// Two kinds of messages that differ in a few of many words.
std::string libsvm_text() {
  constexpr int kWords = 60;
  Random random(5);
  std::vector<double> truth(kWords);
  for (double& weight : truth) {
    weight = random.normal();
  }
  std::string text;
  for (int sample = 0; sample < 3'000; ++sample) {
    double score = random.normal();
    std::string line;
    for (std::size_t word = random.below(8); word < kWords; word += 1 + random.below(7)) {
      const double count = std::abs(random.normal());
      score += count * truth[word];
      line += fmt::format(" {}:{:.4f}", word + 1, count);
    }
    text += (score > 0 ? "+1" : "-1") + line + "\n";
  }
  return text;
}

TEST(Hop, ReachesTheSameLossSoonerWithSvm) {
  ScratchDir scratch;
  expect_the_same_loss_sooner(
      DecentralizedTraining(fmt::format(R"(
[model]
kind = "svm"
[data]
kind = "libsvm"
path = "{}"
holdout = 0.3
)",
                                        scratch.write("words", libsvm_text()))));
}

TEST(Hop, ReachesTheSameLossSoonerWithMlp) {
  expect_the_same_loss_sooner(DecentralizedTraining(R"(
[model]
kind = "mlp"
[data]
kind = "synthetic"
samples = 4000
features = 100
)"));
}

}  // namespace
}  // namespace motley
