// Hop's iterations per second on the paper's graphs and with the paper's slowdowns.
#include <gtest/gtest.h>

#include "motley/sync/hop.h"
#include "tests/figure.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

// 16 workers; an iteration takes 0.1 s.
Job hop_job(const std::vector<double>& speeds, GraphKind graph, std::int64_t steps) {
  Job job = simulated_job("hop", speeds, static_cast<std::int64_t>(speeds.size()), steps);
  job.strategy.of<HopOptions>().graph = graph;
  job.cluster.unit = 0.1;
  return job;
}

// Iterations per second.
double rate(const Job& job) {
  const RunOutcome outcome = simulate_phantom(job);
  return *figure(outcome, "mean_iterations") / outcome.seconds;
}

// Iteration rates relative to the standard mode on ring, ring_based and double_ring, from an
// independent simulation of the paper's algorithms.
TEST(Hop, IterationRatesUnderRandomSlowdownsAreAsExpected) {
  struct Expected {
    GraphKind graph;
    double notify_ack;
    double backup;
    double staleness;
  };
  for (const auto& [graph, notify_ack, backup, staleness] :
       {Expected{GraphKind::kRing, 0.73, 1.38, 1.44},
        Expected{GraphKind::kRingBased, 0.70, 1.40, 1.51},
        Expected{GraphKind::kDoubleRing, 0.70, 1.36, 1.53}}) {
    SCOPED_TRACE(static_cast<int>(graph));
    Job job = hop_job(equal_speeds(16), graph, 1'500);
    job.cluster.slowdowns = {{1.0 / 16, 6}};
    const double standard = rate(job);
    job.strategy.of<HopOptions>().mode = HopMode::kNotifyAck;
    EXPECT_NEAR(rate(job) / standard, notify_ack, 0.05 * notify_ack);
    job.strategy.of<HopOptions>().max_gap = 5;
    job.strategy.of<HopOptions>().mode = HopMode::kBackup;
    EXPECT_NEAR(rate(job) / standard, backup, 0.05 * backup);
    job.strategy.of<HopOptions>().mode = HopMode::kStaleness;
    EXPECT_NEAR(rate(job) / standard, staleness, 0.05 * staleness);
  }
}

TEST(Hop, IterationRatesWithOneSlowWorkerAreAsExpected) {
  std::vector<double> speeds = equal_speeds(16);
  speeds[3] = 0.25;
  for (const GraphKind graph : {GraphKind::kRing, GraphKind::kRingBased, GraphKind::kDoubleRing}) {
    SCOPED_TRACE(static_cast<int>(graph));
    Job job = hop_job(speeds, graph, 600);
    const double standard = rate(job);
    job.strategy.of<HopOptions>().max_gap = 5;
    for (const HopMode mode : {HopMode::kBackup, HopMode::kStaleness}) {
      SCOPED_TRACE(static_cast<int>(mode));
      job.strategy.of<HopOptions>().mode = mode;
      for (const auto& [max_jump, expected] : {std::pair{0, 1.0}, {2, 2.0}, {10, 4.0}}) {
        job.strategy.of<HopOptions>().max_jump = max_jump;
        EXPECT_NEAR(rate(job) / standard, expected, 0.05 * expected);
      }
    }
  }
}

}  // namespace
}  // namespace motley
