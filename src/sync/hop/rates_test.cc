// How many iterations a second Hop is worth, on the paper's graphs and under its slowdowns.
#include <gtest/gtest.h>

#include "tests/figure.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

// 16 workers whose iterations take a tenth of a second.
Job hop_job(const std::vector<double>& speeds, std::string graph, std::int64_t steps) {
  Job job = simulated_job("hop", speeds, static_cast<std::int64_t>(speeds.size()), steps);
  job.strategy.hop.graph = std::move(graph);
  job.cluster.unit = 0.1;
  return job;
}

// Iterations a second.
double rate(const Job& job) {
  const RunOutcome outcome = simulate_phantom(job);
  return *figure(outcome, "mean_iterations") / outcome.seconds;
}

// What iteration rates are worth relative to the standard mode, by an independent simulation of the
// paper's algorithms, on ring, ring_based and double_ring.
TEST(Hop, IterationRatesUnderRandomSlowdownsAreAsExpected) {
  struct Expected {
    const char* graph;
    double notify_ack;
    double backup;
    double staleness;
  };
  for (const auto& [graph, notify_ack, backup, staleness] :
       {Expected{"ring", 0.73, 1.38, 1.44}, Expected{"ring_based", 0.70, 1.40, 1.51},
        Expected{"double_ring", 0.70, 1.36, 1.53}}) {
    SCOPED_TRACE(graph);
    Job job = hop_job(alike(16), graph, 1'500);
    job.cluster.slowdowns = {{1.0 / 16, 6}};
    const double standard = rate(job);
    job.strategy.hop.mode = "notify_ack";
    EXPECT_NEAR(rate(job) / standard, notify_ack, 0.05 * notify_ack);
    job.strategy.hop.max_gap = 5;
    job.strategy.hop.mode = "backup";
    EXPECT_NEAR(rate(job) / standard, backup, 0.05 * backup);
    job.strategy.hop.mode = "staleness";
    EXPECT_NEAR(rate(job) / standard, staleness, 0.05 * staleness);
  }
}

TEST(Hop, IterationRatesWithOneSlowWorkerAreAsExpected) {
  std::vector<double> speeds = alike(16);
  speeds[3] = 0.25;
  for (const char* graph : {"ring", "ring_based", "double_ring"}) {
    SCOPED_TRACE(graph);
    Job job = hop_job(speeds, graph, 600);
    const double standard = rate(job);
    job.strategy.hop.max_gap = 5;
    for (const char* mode : {"backup", "staleness"}) {
      SCOPED_TRACE(mode);
      job.strategy.hop.mode = mode;
      for (const auto& [max_jump, expected] : {std::pair{0, 1.0}, {2, 2.0}, {10, 4.0}}) {
        job.strategy.hop.max_jump = max_jump;
        EXPECT_NEAR(rate(job) / standard, expected, 0.05 * expected);
      }
    }
  }
}

}  // namespace
}  // namespace motley
