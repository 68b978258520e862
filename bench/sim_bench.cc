// Events per second of the simulator: 1,024 workers make one step of all_reduce with a phantom
// model of 25 million parameters, with the product's own loop and strategy.
//
//   sim_bench [--quick] [--json FILE]
//
// The figure is the median of a few runs of the same cluster in one process.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "sim/cluster.h"
#include "sync/loop.h"

namespace motley::bench {
namespace {

constexpr int kWorkers = 1024;
constexpr std::int64_t kParameters = 25'000'000;
constexpr std::int64_t kSteps = 1;  // about 4 million events
constexpr int kRuns = 5;
constexpr int kQuickRuns = 3;

struct Run {
  std::uint64_t events;
  double seconds;

  double events_per_second() const { return static_cast<double>(events) / seconds; }
};

Job phantom_job() {
  Job job;
  job.model.kind = "phantom";
  job.train.batch = 64 * kWorkers;
  job.train.steps = kSteps;
  job.cluster.workers = kWorkers;
  job.cluster.unit = 1e-3;
  job.cluster.speeds.assign(kWorkers, 1.0);
  job.cluster.bandwidth.assign(kWorkers, 1.25e9);
  job.cluster.slowdowns = {{0.5, 1.5}};
  return job;
}

class Nobody final : public Observer {
 public:
  void on_step(Seconds, const Progress&, const WorkerResult&) override {}
  void on_snapshot(Seconds, const Progress&, Replica&) override {}
};

void train_on(Node& node, const Job& job) {
  PhantomReplica replica(kParameters);
  Nobody nobody;
  train(node, {job, job.train.batch * kSteps, replica, nobody, [] { return false; }});
}

Run run_once() {
  const Job job = phantom_job();
  SimCluster cluster(job.cluster);
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    cluster.start(rank, [&job](Node& node) { train_on(node, job); });
  }
  const auto begin = std::chrono::steady_clock::now();
  cluster.run();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {cluster.events(), elapsed.count()};
}

int measure(bool quick, const std::string& json_file) {
  std::vector<Run> runs;
  for (int i = 0; i < (quick ? kQuickRuns : kRuns); ++i) {
    runs.push_back(run_once());
  }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    return a.events_per_second() < b.events_per_second();
  });
  const Run& median = runs[runs.size() / 2];
  fmt::print(
      "simulator, {} phantom workers: {:.2f} million events/s ({} events; {:.2f} .. {:.2f})\n",
      kWorkers, 1e-6 * median.events_per_second(), median.events,
      1e-6 * runs.front().events_per_second(), 1e-6 * runs.back().events_per_second());
  if (!json_file.empty()) {
    const auto row = nlohmann::ordered_json{{"bench", "simulator"},
                                            {"workers", kWorkers},
                                            {"events", median.events},
                                            {"seconds", median.seconds},
                                            {"events_per_second", median.events_per_second()}};
    std::ofstream out(json_file);
    out << nlohmann::ordered_json::array({row}).dump(1) << "\n";
    if (!out.flush()) {
      fmt::print(stderr, "sim_bench: cannot write {}\n", json_file);
      return 1;
    }
  }
  return 0;
}

}  // namespace

int run(int argc, char** argv) {
  bool quick = false;
  std::string json_file;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--quick") {
      quick = true;
    } else if (flag == "--json" && i + 1 < argc) {
      json_file = argv[++i];
    } else {
      fmt::print(stderr, "usage: sim_bench [--quick] [--json FILE]\n");
      return 2;
    }
  }
  return measure(quick, json_file);
}

}  // namespace motley::bench

int main(int argc, char** argv) {
  try {
    return motley::bench::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "sim_bench: {}\n", e.what());
    return 1;
  }
}
