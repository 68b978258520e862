// Many workers equal one, and a real run equals a simulated one: the same parameters in the files
// that the program writes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/process.h"

namespace motley {
namespace {

std::string job_text(const std::string& model, int features) {
  return fmt::format(R"(
name = "equal"
[model]
kind = "{}"
[data]
kind = "synthetic"
samples = 2600        # no multiple of the batch: a short step at the end of each epoch
test_samples = 200
features = {}
[train]
batch = 250
steps = 100
eval_every = 40
lr = 0.02
[cluster]
workers = 1
unit = 1e-6
)",
                     model, features);
}

torch::Tensor parameters_in(const std::string& file) {
  const auto module = torch::jit::load(file);
  std::vector<torch::Tensor> flat;
  for (const auto& parameter : module.parameters()) {
    flat.push_back(parameter.detach().to(torch::kDouble).flatten());
  }
  return torch::cat(flat);
}

class Equivalence : public testing::Test {
 protected:
  torch::Tensor trained(const std::string& mode, int workers,
                        const std::vector<std::string>& settings = {}) {
    const std::string out = scratch_.file(fmt::format("run{}", runs_++));
    std::vector<std::string> command{MOTLEY_PROGRAM,
                                     mode,
                                     scratch_.file("job.toml"),
                                     "--out",
                                     out,
                                     "--json",
                                     "--set",
                                     fmt::format("cluster.workers={}", workers)};
    for (const std::string& setting : settings) {
      command.insert(command.end(), {"--set", setting});
    }
    const Finished finished = run(command);
    EXPECT_EQ(finished.code, 0) << finished.err;
    const auto summary = nlohmann::json::parse(finished.out);
    EXPECT_EQ(summary["samples"], 25'000);
    EXPECT_EQ(summary["steps"], 100);
    return parameters_in(out + "/model.pt");
  }

  static double relative(const torch::Tensor& a, const torch::Tensor& b) {
    return ((a - b).norm() / b.norm()).item<double>();
  }

  ScratchDir scratch_;
  int runs_ = 0;
};

TEST_F(Equivalence, ManyWorkersEqualOneAndRealEqualsSimulated) {
  scratch_.write("job.toml", job_text("mlp", 784));
  const auto one = trained("simulate", 1);
  for (int workers : {2, 3, 4}) {
    const auto simulated = trained("simulate", workers);
    const auto real = trained("train", workers);
    EXPECT_LE(relative(simulated, one), 1e-5) << workers;
    EXPECT_LE(relative(real, one), 1e-5) << workers;
    EXPECT_LE(relative(real, simulated), 1e-5) << workers;
  }
  EXPECT_LE(relative(trained("train", 1), one), 1e-5);
}

// Whatever the shares and however they change, the model is that of equal shares. The model is
// smooth: with ReLUs a single rounding can decide whether one is open, and the shares of real runs
// depend on timing (docs/allocation.md).
TEST_F(Equivalence, AllocationsDoNotChangeTheModel) {
  scratch_.write("job.toml", job_text("svm", 784));
  auto allocated = [&](const std::string& mode, const std::string& allocation,
                       const std::vector<std::string>& more) {
    std::vector<std::string> settings = {"cluster.unit=4e-5", "cluster.speeds=[1,2,0.25]",
                                         "strategy.shares=[3,5,1]",
                                         "strategy.allocation=" + allocation};
    settings.insert(settings.end(), more.begin(), more.end());
    return trained(mode, 3, settings);
  };
  const auto equal = allocated("simulate", "equal", {});
  for (const char* allocation : {"static", "adaptive", "dynamic"}) {
    EXPECT_LE(relative(allocated("simulate", allocation, {}), equal), 1e-4) << allocation;
    EXPECT_LE(relative(allocated("train", allocation, {"train.micro_batch=16"}), equal), 1e-4)
        << allocation;
  }
}

// Uneven micro-batches that do not divide the shares, on real and on simulated workers.
TEST_F(Equivalence, MicroBatchesDoNotChangeTheModel) {
  scratch_.write("job.toml", job_text("svm", 784));
  const auto one = trained("simulate", 1);
  const std::vector<std::string> settings = {"train.micro_batch=[7, 3, 1]"};
  auto uneven = settings;
  uneven.insert(uneven.end(), {"strategy.allocation=static", "strategy.shares=[5, 3, 1]"});
  auto adaptive = settings;
  adaptive.insert(adaptive.end(), {"strategy.allocation=adaptive", "cluster.overhead=1e-4"});
  for (const char* mode : {"simulate", "train"}) {
    EXPECT_LE(relative(trained(mode, 3, settings), one), 1e-5) << mode;
    EXPECT_LE(relative(trained(mode, 3, uneven), one), 1e-5) << mode;
    EXPECT_LE(relative(trained(mode, 3, adaptive), one), 1e-5) << mode;
  }
  EXPECT_LE(relative(trained("simulate", 1, {"train.micro_batch=9"}), one), 1e-5);
}

// With all workers in one group, averaging models after their own steps is all_reduce, because sgd
// is linear in the gradient, also with momentum. The data set is a multiple of the batch, so that
// no worker begins an epoch before the others.
TEST_F(Equivalence, PartialReduceOfAllWorkersIsAllReduce) {
  scratch_.write("job.toml", job_text("svm", 784));
  for (const char* momentum : {"train.momentum=0", "train.momentum=0.9"}) {
    const std::vector<std::string> settings = {"data.samples=2500", momentum};
    auto partial = settings;
    partial.insert(partial.end(),
                   {"strategy.sync=partial_reduce", "strategy.partial_reduce.group=4"});
    const auto whole = trained("simulate", 4, settings);
    EXPECT_LE(relative(trained("simulate", 4, partial), whole), 1e-5) << momentum;
    EXPECT_LE(relative(trained("train", 4, partial), whole), 1e-5) << momentum;
  }
}

TEST_F(Equivalence, TwoSimulationsAreTheSameToTheByte) {
  scratch_.write("job.toml", job_text("mlp", 100));
  for (const char* out : {"a", "b"}) {
    const Finished finished = run({MOTLEY_PROGRAM, "simulate", scratch_.file("job.toml"), "--out",
                                   scratch_.file(out), "--set", "cluster.workers=3"});
    ASSERT_EQ(finished.code, 0) << finished.err;
  }
  for (const char* file : {"summary.json", "metrics.jsonl", "model.pt", "job.toml", "record.json",
                           "trace.json", "report.html"}) {
    const std::string a = read_file(scratch_.file(std::string("a/") + file));
    EXPECT_FALSE(a.empty()) << file;
    EXPECT_EQ(a, read_file(scratch_.file(std::string("b/") + file))) << file;
  }
}

TEST(FashionMnist, FiveEpochsOnFourWorkersReachTheAccuracy) {
  ScratchDir scratch;
  const std::string job = scratch.write("job.toml", R"(
name = "fashion"
[model]
kind = "mlp"
[data]
kind = "idx"
path = "/usr/share/datasets/fashion-mnist"
[train]
batch = 256
epochs = 5
eval_every = 0
lr = 0.02
momentum = 0.9
[cluster]
workers = 4
)");
  const std::vector<std::vector<std::string>> commands = {
      {MOTLEY_PROGRAM, "train", job, "--json", "--out", scratch.file("train")},
      {MOTLEY_PROGRAM, "simulate", job, "--json", "--out", scratch.file("simulate"), "--set",
       "cluster.unit=5e-5"}};
  for (const auto& command : commands) {
    const Finished finished = run(command);
    ASSERT_EQ(finished.code, 0) << finished.err;
    const auto summary = nlohmann::json::parse(finished.out);
    EXPECT_GE(summary["final_accuracy"], 0.865) << command[1];
    EXPECT_EQ(summary["samples"], 300'000);
  }
}

// The time of the first evaluation that reached `target`.
double time_to(double target, const std::string& metrics) {
  std::istringstream lines(read_file(metrics));
  for (std::string line; std::getline(lines, line);) {
    const auto metric = nlohmann::json::parse(line);
    if (metric["accuracy"] >= target) {
      return metric["seconds"];
    }
  }
  return std::numeric_limits<double>::infinity();
}

TEST(FashionMnist, PartialReduceReachesTheTargetSooner) {
  ScratchDir scratch;
  const std::string job = scratch.write("job.toml", R"(
[model]
kind = "mlp"
[data]
kind = "idx"
path = "/usr/share/datasets/fashion-mnist"
[train]
batch = 256
epochs = 2
eval_every = 20
[cluster]
workers = 8
unit = 500e-6
speeds = [1, 1, 1, 1, 1, 1, 0.333, 0.333]
)");
  std::vector<double> seconds;
  std::vector<double> accuracies;
  for (const char* sync : {"all_reduce", "partial_reduce"}) {
    const Finished finished =
        run({MOTLEY_PROGRAM, "simulate", job, "--json", "--quiet", "--out", scratch.file(sync),
             "--set", fmt::format("strategy.sync={}", sync)});
    ASSERT_EQ(finished.code, 0) << finished.err;
    const auto summary = nlohmann::json::parse(finished.out);
    EXPECT_EQ(summary["samples"], 120'000);
    accuracies.push_back(summary["final_accuracy"]);
    seconds.push_back(time_to(0.85, scratch.file(sync) + "/metrics.jsonl"));
  }
  EXPECT_GE(accuracies[1], accuracies[0] - 0.01);
  EXPECT_GE(seconds[0] / seconds[1], 1.5);
  RecordProperty("ratio", fmt::format("{:.2f}", seconds[0] / seconds[1]));
}

}  // namespace
}  // namespace motley
