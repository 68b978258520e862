// Events per second of the simulator: 1,024 workers take one step of all_reduce with a phantom
// model of 25 million parameters, using motley's own loop and strategy.
//
//   sim_bench [--quick] [--json FILE]
//
// The figure is the median of a few runs of the same cluster in one process.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench_main.h"
#include "sim/cluster.h"
#include "sync/loop.h"

namespace motley::bench {
namespace {

constexpr int kWorkers = 1024;
constexpr std::int64_t kParameters = 25'000'000;
constexpr std::int64_t kSteps = 1;  // about 4 million events
constexpr int kRuns = 5;
constexpr int kQuickRuns = 3;

struct SimulationRun {
  std::uint64_t events;
  double seconds;

  double events_per_second() const { return static_cast<double>(events) / seconds; }
};

Job phantom_job() {
  Job job;
  job.model.kind = ModelKind::kPhantom;
  job.train.batch = 64 * kWorkers;
  job.train.steps = kSteps;
  job.cluster.workers = kWorkers;
  job.cluster.unit = 1e-3;
  job.cluster.speeds.assign(kWorkers, 1.0);
  job.cluster.bandwidth.assign(kWorkers, 1.25e9);
  job.cluster.slowdowns = {{0.5, 1.5}};
  return job;
}

class SimObserver final : public Observer {
 public:
  void on_step(Seconds, const Progress&, const WorkerResult&) override {}
  void on_snapshot(Seconds, const Progress&, Replica&) override {}
};

void train_on(Node& node, const Job& job) {
  PhantomReplica replica(kParameters);
  SimObserver nobody;
  train(node, {job, job.train.batch * kSteps, replica, nobody, [] { return false; }});
}

SimulationRun run_once() {
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

Rows measure(bool quick) {
  std::vector<SimulationRun> runs;
  for (int i = 0; i < (quick ? kQuickRuns : kRuns); ++i) {
    runs.push_back(run_once());
  }
  std::sort(runs.begin(), runs.end(), [](const SimulationRun& a, const SimulationRun& b) {
    return a.events_per_second() < b.events_per_second();
  });
  const SimulationRun& middle = runs[runs.size() / 2];
  fmt::print(
      "simulator, {} phantom workers: {:.2f} million events/s ({} events; {:.2f} .. {:.2f})\n",
      kWorkers, 1e-6 * middle.events_per_second(), middle.events,
      1e-6 * runs.front().events_per_second(), 1e-6 * runs.back().events_per_second());
  return Rows::array({{{"bench", "simulator"},
                       {"workers", kWorkers},
                       {"events", middle.events},
                       {"seconds", middle.seconds},
                       {"events_per_second", middle.events_per_second()}}});
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "sim_bench", motley::bench::measure);
}
