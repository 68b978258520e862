// Events per second of the simulator: 1,024 workers pass the segments of a phantom model of 25
// million parameters around a ring, as a ring all-reduce does, with a paced step before each pass.
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

#include "base/random.h"
#include "sim/cluster.h"

namespace motley::bench {
namespace {

constexpr int kWorkers = 1024;
constexpr std::size_t kModelBytes = 100'000'000;
constexpr Seconds kStepSeconds = 0.1;
constexpr int kSteps = 1;  // about 4 million events
constexpr int kRuns = 5;
constexpr int kQuickRuns = 3;

struct Run {
  std::uint64_t events;
  double seconds;

  double events_per_second() const { return static_cast<double>(events) / seconds; }
};

ClusterSpec cluster_spec() {
  ClusterSpec spec;
  spec.workers = kWorkers;
  spec.unit = 1e-3;
  spec.speeds.assign(kWorkers, 1.0);
  spec.bandwidth.assign(kWorkers, 1.25e9);
  return spec;
}

// One worker's side: 2 (n - 1) passes of a segment to the right neighbour.
void pass_around(Node& node) {
  const Rank right = (node.rank() + 1) % node.size();
  const Rank left = (node.rank() + node.size() - 1) % node.size();
  const Payload segment = Payload::phantom(kModelBytes / static_cast<std::size_t>(node.size()));
  Random random(1, static_cast<std::uint64_t>(node.rank()));
  for (int step = 0; step < kSteps; ++step) {
    node.busy(kStepSeconds * (1 + random.uniform()), [] {});
    for (int pass = 0; pass < 2 * (node.size() - 1); ++pass) {
      node.send(right, Channel::kAllReduce, {.tag = step, .a = pass}, segment);
      node.receive({Channel::kAllReduce, left});
    }
  }
}

Run run_once() {
  SimCluster cluster(cluster_spec());
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    cluster.start(rank, pass_around);
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
