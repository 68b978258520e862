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
  torch::Tensor trained(const std::string& mode, int workers) {
    const std::string out = scratch_.file(mode + std::to_string(workers));
    const Finished finished = run({MOTLEY_PROGRAM, mode, scratch_.file("job.toml"), "--out", out,
                                   "--set", fmt::format("cluster.workers={}", workers), "--json"});
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
