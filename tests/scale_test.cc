// Thousands of workers: the work of the simulator per worker does not grow with their number.
// Counts events, not seconds.
#include <gtest/gtest.h>

#include "motley/sync/hop.h"
#include "motley/sync/partial_reduce.h"
#include "runtime/simulate/simulate.h"
#include "sync/ring_meeting.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

constexpr std::int64_t kSteps = 5;

// Events per worker and step.
double events_per_step(const std::string& sync, int workers) {
  Job job = simulated_job(sync, equal_speeds(workers), workers, kSteps);
  job.cluster.slowdowns = {{.probability = 0.1, .factor = 3}};
  job.strategy.of<HopOptions>().graph = GraphKind::kRingBased;
  job.strategy.of<PartialReduceOptions>().group = 8;
  job.strategy.ps.servers = 16;
  const RunOutcome outcome = simulate_phantom(job);
  EXPECT_EQ(outcome.samples, kSteps * workers) << sync;
  return static_cast<double>(*outcome.simulated_events) / static_cast<double>(kSteps * workers);
}

TEST(Scale, EventsOfAWorkerDoNotGrowWithTheOthers) {
  for (const char* sync : {"hop", "partial_reduce", "all_reduce", "ps_ssp"}) {
    const double among_few = events_per_step(sync, 128);
    const double among_many = events_per_step(sync, 1024);
    EXPECT_LT(among_many, 1.1 * among_few) << sync;
    EXPECT_LT(among_many, 100) << sync;
  }
}

// In a ring of n workers each sends 2(n-1) messages. Each arrives in an event of its own; those that
// leave at the same time do so in one.
TEST(Scale, UpTo64WorkersTheRingIsPlayedMessageByMessage) {
  constexpr int kMost = RingMeeting::kMostByMessage;
  EXPECT_GT(events_per_step("all_reduce", kMost), 3 * (kMost - 1));
  EXPECT_LT(events_per_step("all_reduce", kMost + 1), 4);
}

// Phantom blocks carry no votes: all workers must get the same answer in the same step, wherever
// they are when the request comes.
TEST(Phantoms, AgreeToStop) {
  for (const char* sync : {"all_reduce", "local_sgd", "ps_bsp"}) {
    for (const int workers : {2, 7, 70}) {
      for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        Job job = simulated_job(sync, equal_speeds(workers), workers, 1'000'000);
        job.model.kind = ModelKind::kPhantom;
        job.seed = seed;
        job.cluster.slowdowns = {{.probability = 0.3, .factor = 5}};
        PhantomTask task(job.train.batch * 1'000'000, 1000);
        QuietMonitor monitor;
        monitor.stop_after_samples = static_cast<std::int64_t>(seed) * workers;
        const RunOutcome outcome = simulate(job, task, monitor);
        EXPECT_EQ(outcome.stopped, "SIGINT");
        // local_sgd agrees only when it averages, every 8 steps.
        EXPECT_LE(outcome.samples, (static_cast<std::int64_t>(seed) + 20) * workers) << sync;
        for (const WorkerSummary& worker : outcome.workers) {
          EXPECT_EQ(worker.steps, outcome.workers[0].steps) << sync << ", seed " << seed;
        }
      }
    }
  }
}

}  // namespace
}  // namespace motley
