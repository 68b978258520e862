// Workers of different speeds on one machine: what the methods gain in time, and that they learn.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/process.h"

namespace motley {
namespace {

using Json = nlohmann::json;

// Starts `motley train job` with these settings. Paced workers sleep nearly all the time, so
// several runs may go at once.
Process start(const ScratchDir& scratch, const std::string& job, const std::string& name,
              const std::vector<std::string>& settings) {
  std::vector<std::string> command{MOTLEY_PROGRAM, "train",           job, "--json", "--quiet",
                                   "--out",        scratch.file(name)};
  for (const std::string& setting : settings) {
    command.insert(command.end(), {"--set", setting});
  }
  return Process(command);
}

Json summary_of(Process& process) {
  const Finished finished = process.wait();
  EXPECT_EQ(finished.code, 0) << finished.err;
  return Json::parse(finished.out);
}

// One worker of four is four times as slow. The model is small, so that the pace is measured and
// not this machine.
constexpr const char* kOneSlow = R"(
[model]
kind = "svm"
[data]
kind = "synthetic"
[train]
batch = 256
steps = 200
eval_every = 0
lr = 0.01
[cluster]
workers = 4
unit = 400e-6
speeds = [1, 1, 1, 0.25]
)";

double rate(const Json& summary) { return summary["samples_per_second"].get<double>(); }
double accuracy(const Json& summary) { return summary["final_accuracy"].get<double>(); }

// What all_reduce with equal shares loses to the slow worker, and which methods recover it.
TEST(Paced, MethodsGainWhatTheyShould) {
  ScratchDir scratch;
  const std::string job = scratch.write("job.toml", kOneSlow);
  // The fastest methods run with the fewest others beside them. Slow ones need fewer steps to show
  // their rate.
  Process slow = start(scratch, job, "equal", {"train.steps=80"});
  Process even = start(scratch, job, "adaptive", {"strategy.allocation=adaptive"});
  const Json adaptive = summary_of(even);
  const Json equal = summary_of(slow);
  Process ring = start(scratch, job, "ring", {"strategy.sync=hop", "train.steps=80"});
  Process ready = start(scratch, job, "partial", {"strategy.sync=partial_reduce"});
  Process skipping = start(scratch, job, "skip",
                           {"strategy.sync=hop", "strategy.hop.mode=backup",
                            "strategy.hop.max_gap=5", "strategy.hop.max_jump=10"});
  const Json partial = summary_of(ready);
  const Json standard = summary_of(ring);
  const Json skip = summary_of(skipping);
  // With equal shares a simulated run ends with exactly the model of a real one.
  const Finished simulated =
      run({MOTLEY_PROGRAM, "simulate", job, "--json", "--quiet", "--out", scratch.file("whole")});
  ASSERT_EQ(simulated.code, 0) << simulated.err;
  const Json whole = Json::parse(simulated.out);
  for (const Json& summary : {adaptive, partial, skip, whole}) {
    EXPECT_EQ(summary["samples"], 200 * 256);
  }
  EXPECT_GE(rate(adaptive) / rate(equal), 2.8);  // ideal is 3.25
  EXPECT_GE(rate(partial) / rate(equal), 1.8);
  EXPECT_GE(rate(skip) / rate(standard), 1.8);
  RecordProperty("ratio", fmt::format("{:.2f} {:.2f} {:.2f}", rate(adaptive) / rate(equal),
                                      rate(partial) / rate(equal), rate(skip) / rate(standard)));
  EXPECT_NEAR(accuracy(adaptive), accuracy(whole), 0.005);
  EXPECT_GE(accuracy(partial), accuracy(whole) - 0.01);

  const Json& allocation = adaptive["allocation"];
  EXPECT_EQ(allocation["history"][0]["shares"], Json({64, 64, 64, 64}));
  EXPECT_NEAR(allocation["per_worker"][3]["share"].get<double>(), 256 / 13.0, 1.5);
  for (std::size_t rank = 0; rank < 4; ++rank) {
    const double speed = rank == 3 ? 0.25 : 1;
    const auto estimate = allocation["per_worker"][rank]["samples_per_second"].get<double>();
    EXPECT_NEAR(estimate * 400e-6 / speed, 1, 0.1) << rank;
  }
  EXPECT_NEAR(partial["partial_reduce"]["mean_group_size"].get<double>(), 2, 0.02);
  EXPECT_LE(partial["partial_reduce"]["longest_window"], 20);

  EXPECT_GE(accuracy(skip), accuracy(whole) - 0.015);
  EXPECT_GT(skip["hop"]["iterations_skipped"], 0);
  // On a ring of 4, by the length of the path: how far a worker may get ahead.
  EXPECT_LE(standard["hop"]["largest_gap_by_distance"][0], 1);
  EXPECT_LE(standard["hop"]["largest_gap_by_distance"][1], 2);
  EXPECT_LE(standard["max_iteration_gap"], 2);
  EXPECT_LE(skip["hop"]["largest_gap_by_distance"][0], 5);
  EXPECT_LE(skip["hop"]["largest_gap_by_distance"][1], 10);
}

// The same with a parameter server: what profiled rounds recover.
TEST(Paced, AshlIsNotHeldBackAsBspIs) {
  ScratchDir scratch;
  const std::string job = scratch.write("job.toml", kOneSlow);
  Process slow = start(scratch, job, "bsp", {"strategy.sync=ps_bsp", "train.steps=40"});
  Process fast = start(scratch, job, "ashl", {"strategy.sync=ashl", "train.steps=120"});
  const Json ashl = summary_of(fast);
  const Json bsp = summary_of(slow);
  EXPECT_EQ(ashl["samples"], 120 * 256);
  EXPECT_GE(rate(ashl) / rate(bsp), 2.5);  // ideal is 3.25
  RecordProperty("ratio", fmt::format("{:.2f}", rate(ashl) / rate(bsp)));
  // The iterations in a round follow the speeds.
  const Json& iterations = ashl["ashl"]["ahl_iterations"];
  EXPECT_NEAR(iterations[0].get<double>() / iterations[3].get<double>(), 4, 0.8);
}

// With permission to create cgroups, the kernel slows worker 1 down; otherwise there is one clear
// line. Steps must be long compared with the kernel's periods of 100 ms, also on a fast machine: a
// worker that computes less than its part of one and then waits for others is not slowed down.
TEST(Quotas, MakeAWorkerSlowOrSayWhyNot) {
  ScratchDir scratch;
  scratch.write("job.toml", R"(
name = "quota"
[model]
kind = "cnn"
[data]
kind = "synthetic"
features = 784
samples = 1000
test_samples = 10
[train]
batch = 480
steps = 40
eval_every = 0
[strategy]
allocation = "adaptive"
[cluster]
workers = 2
speeds = [1, 0.2]
isolate = "cgroup"
)");
  const Finished finished = run({MOTLEY_PROGRAM, "train", "job.toml", "--json"}, scratch.path());
  if (finished.code != 0) {
    EXPECT_EQ(finished.code, 2);
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
    EXPECT_NE(finished.err.find("cluster.isolate = \"cgroup\" is not possible here: "),
              std::string::npos)
        << finished.err;
    EXPECT_FALSE(std::filesystem::exists(scratch.file("runs")));
    return;
  }
  const Json summary = Json::parse(finished.out);
  EXPECT_TRUE(summary["ideal_samples_per_second"].is_null());
  EXPECT_FALSE(summary["per_worker"][0].contains("pace_missed"));
  const Json& workers = summary["allocation"]["per_worker"];
  EXPECT_GT(workers[0]["samples_per_second"].get<double>(),
            1.5 * workers[1]["samples_per_second"].get<double>());
  EXPECT_GT(workers[0]["share"].get<int>(), workers[1]["share"].get<int>());
}

}  // namespace
}  // namespace motley
