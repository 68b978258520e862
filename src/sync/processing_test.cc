// How long methods process numbers on their way (Node::process()), computed by hand. Links and
// messages to the coordinator take no time here.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "motley/sync/hop.h"
#include "motley/sync/local_sgd.h"
#include "motley/sync/method.h"
#include "motley/sync/partial_reduce.h"
#include "runtime/simulate/simulate.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"
#include "tests/still_task.h"
#include "tests/watched_node.h"

namespace motley::processing_test {
namespace {

constexpr double kMemory = 1e10;  // bytes per second
constexpr std::int64_t kParameters = 2'500'000;
constexpr Seconds kByte = kParameters / kMemory;  // a byte of every parameter: 0.25 ms
// The same, with the numbers behind the gradient.
constexpr Seconds kByteAndTail = kByte + static_cast<double>(Replica::kTail) / kMemory;
constexpr Seconds kCompute = 0.05;
constexpr double kExact = 1e-7;

// Every worker computes one sample in each step.
Job job_of(std::string sync, int workers, std::int64_t steps = 10) {
  Job job = simulated_job(std::move(sync), equal_speeds(workers), workers, steps);
  job.model.kind = ModelKind::kPhantom;
  job.cluster.unit = kCompute;
  job.cluster.latency = 0;
  job.cluster.bandwidth.clear();  // unlimited
  job.cluster.memory_bandwidth = kMemory;
  return job;
}

RunOutcome simulated(const Job& job) {
  PhantomTask task(60'000, kParameters);
  QuietMonitor monitor;
  return simulate(job, task, monitor);
}

// The time of one step, without the beginning and the end of the run.
Seconds step_of(Job job) {
  job.train.steps = 20;
  const Seconds shorter = simulated(job).seconds;
  job.train.steps = 30;
  return (simulated(job).seconds - shorter) / 10;
}

// The time of one iteration of a worker at its own pace.
Seconds iteration_of(const Job& job, Rank worker) {
  constexpr std::int64_t kSamples = 60'000;
  IterationWatch watch(job.cluster.workers);
  SimCluster cluster(job.cluster, servers_of(job));
  cluster.start(kCoordinator,
                [&](Node& node) { serve(node, job, kSamples, [] { return false; }); });
  for (int server = 0; server < servers_of(job); ++server) {
    cluster.start(job.cluster.workers + server, [&](Node& node) { run_server(node, job); });
  }
  std::vector<std::unique_ptr<PhantomReplica>> replicas;
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    replicas.push_back(std::make_unique<PhantomReplica>(kParameters));
    cluster.start(rank, [&, replica = replicas.back().get()](Node& node) {
      WatchedNode watched(node, watch);
      Unwatched observer;
      train(watched, {job, kSamples, *replica, observer, [] { return false; }});
    });
  }
  cluster.run();
  std::vector<Seconds> begins;
  for (const IterationWatch::Event& event : watch.events) {
    if (event.rank == worker) {
      begins.push_back(event.at);
    }
  }
  return (begins[5] - begins[2]) / 3;
}

// Copies its model for the neighbours (8 bytes a parameter); averages three models (16 bytes).
TEST(Processing, HopAveragesWithItsNeighbours) {
  Job job = job_of("hop", 4);
  job.strategy.of<HopOptions>().graph = GraphKind::kRing;
  EXPECT_NEAR(step_of(job), kCompute + (8 + 16) * kByte, kExact);
  EXPECT_NEAR(iteration_of(job, 0), kCompute + (8 + 16) * kByte, kExact);
  job.strategy.of<HopOptions>().graph = GraphKind::kComplete;  // four models
  EXPECT_NEAR(step_of(job), kCompute + (8 + 20) * kByte, kExact);
}

// The active worker copies its model, and later the mean. Meanwhile the passive one averages (12
// bytes) and copies the mean (8 bytes): beside its own computing, and while the active one
// computes.
TEST(Processing, AdPsgdAveragesBesideComputing) {
  Job job = job_of("ad_psgd", 2);
  EXPECT_NEAR(iteration_of(job, 0), kCompute + (8 + 8) * kByte, kExact);
  EXPECT_NEAR(iteration_of(job, 1), kCompute + 8 * kByte, kExact);  // copies what others averaged
}

// With little to compute, the exchange waits for the average.
TEST(Processing, AnExchangeOfAdPsgdWaitsForTheAverage) {
  Job job = job_of("ad_psgd", 2, 60);
  job.cluster.unit = 1e-5;
  EXPECT_NEAR(iteration_of(job, 0), (8 + 20 + 8) * kByte, kExact);
}

// A ring adds while it receives. Only the chunk that is sent first is multiplied by its weight
// before: a third of the model, 8 bytes a parameter.
TEST(Processing, PartialReduceWeighsItsFirstChunk) {
  Job job = job_of("partial_reduce", 3);
  job.strategy.of<PartialReduceOptions>().group = 3;
  EXPECT_NEAR(step_of(job), kCompute + 8 * kByte / 3, kExact);
  EXPECT_NEAR(step_of(job_of("all_reduce", 3)), kCompute, kExact);  // weighs nothing
}

// The change (12 bytes) and what follows from it is averaged as in all_reduce; then the outer step.
TEST(Processing, LocalSgdTakesAChangeAndAnOuterStep) {
  Job job = job_of("local_sgd", 3);
  job.strategy.of<LocalSgdOptions>().steps = 1;
  job.strategy.of<LocalSgdOptions>().outer_momentum = 0;
  EXPECT_NEAR(step_of(job), kCompute + (12 + 16) * kByte, kExact);
  job.strategy.of<LocalSgdOptions>().outer_momentum = 0.9;
  EXPECT_NEAR(step_of(job), kCompute + (12 + 32) * kByte, kExact);
}

// The server adds the pushes of all workers one after the other, when the last one has arrived: 12
// bytes each. A worker copies its gradient behind which it sends the loss, and the sum (8 bytes).
TEST(Processing, AServerAddsOnePushAfterTheOther) {
  EXPECT_NEAR(step_of(job_of("ps_bsp", 1)), kCompute + (8 + 12 + 8) * kByteAndTail, kExact);
  EXPECT_NEAR(step_of(job_of("ps_bsp", 4)), kCompute + (8 + 4 * 12 + 8) * kByteAndTail, kExact);
}

// A worker computes its change (12 bytes), the server adds it (12), the worker copies the answer
// twice: as its model and as the base of its next change (8 each).
TEST(Processing, ACommitIsAddedAndCopied) {
  EXPECT_NEAR(iteration_of(job_of("ps_asp", 1), 0), kCompute + (12 + 12 + 8 + 8) * kByte, kExact);
}

// Workers with little to compute wait for a server that is never idle.
TEST(Processing, AServerLimitsItsWorkers) {
  Job job = job_of("ps_asp", 8);
  job.cluster.unit = 1e-5;
  EXPECT_NEAR(step_of(job), 8 * 12 * kByte, 1e-3 * kByte);
}

// With two workers each one encodes two halves of the block, adds one and decodes two.
TEST(Processing, ACodecEncodesAndDecodes) {
  Job job = job_of("all_reduce", 2);
  job.strategy.error_feedback = false;
  job.strategy.codec = CodecKind::kFp16;
  EXPECT_NEAR(step_of(job), kCompute + (2 * 6 + 10 + 2 * 6) * kByte / 2, kExact);
  job.strategy.codec = CodecKind::kInt8;
  EXPECT_NEAR(step_of(job), kCompute + (2 * 11 + 9 + 2 * 6) * kByte / 2, kExact);
}

TEST(Processing, EncodingIsNotWaiting) {
  Job job = job_of("all_reduce", 4);
  job.strategy.codec = CodecKind::kTopk;
  const RunOutcome outcome = simulated(job);
  for (const WorkerSummary& worker : outcome.workers) {
    EXPECT_NEAR(worker.wait_seconds, 0, kExact);
    EXPECT_NEAR(worker.compute_seconds, 10 * kCompute, kExact);
    EXPECT_GT(worker.communicate_seconds, 10 * 28 * kByte);
    EXPECT_NEAR(worker.compute_seconds + worker.communicate_seconds + worker.wait_seconds,
                outcome.seconds, kExact);
  }
}

// A phantom takes as long as numbers do, in every method and codec.
TEST(Processing, PhantomsAreProcessedAsLongAsNumbers) {
  for (const Method* method : methods()) {
    for (const CodecKind codec : {CodecKind::kNone, CodecKind::kInt8, CodecKind::kTopk}) {
      Job job = job_of(std::string(method->name()), 4, 5);
      const bool has_codec = method->schema.exchanges != ExchangeKind::kModels;
      if (codec != CodecKind::kNone && !has_codec) {
        continue;
      }
      job.strategy.codec = codec;
      constexpr std::int64_t kFew = 50'000;
      PhantomTask phantoms(60'000, kFew);
      StillTask numbers(60'000, kFew);
      QuietMonitor monitor;
      const Seconds expected = simulate(job, phantoms, monitor).seconds;
      EXPECT_NEAR(simulate(job, numbers, monitor).seconds, expected, kExact) << method->name();
    }
  }
}

}  // namespace
}  // namespace motley::processing_test
