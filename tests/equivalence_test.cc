// Many workers equal one, and a real run equals a simulated one: the same parameters, from the
// files that the program writes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <torch/script.h>

#include <nlohmann/json.hpp>

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

// Whatever the shares and however they change, the model is that of equal shares. A smooth model:
// in one with kinks a single rounding can decide whether a ReLU is open, and shares of real runs
// depend on the time (docs/allocation.md).
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

TEST_F(Equivalence, TwoSimulationsAreTheSameToTheByte) {
  scratch_.write("job.toml", job_text("mlp", 100));
  for (const char* out : {"a", "b"}) {
    const Finished finished = run({MOTLEY_PROGRAM, "simulate", scratch_.file("job.toml"), "--out",
                                   scratch_.file(out), "--set", "cluster.workers=3"});
    ASSERT_EQ(finished.code, 0) << finished.err;
  }
  for (const char* file : {"summary.json", "metrics.jsonl", "model.pt", "job.toml"}) {
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

}  // namespace
}  // namespace motley
