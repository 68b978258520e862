#include "sync/ps/ps.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "job/choices.h"
#include "motley/sync/adsp.h"
#include "motley/sync/method.h"
#include "motley/sync/parameter_server/messages.h"
#include "motley/sync/ps.h"
#include "tests/own_pace.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

std::vector<float> trained(const Job& job, std::int64_t samples, double momentum = 0.9) {
  ToyTask task(samples, 23, 5, 0.01, momentum);
  QuietMonitor monitor;
  return simulate(job, task, monitor).model.parameters;
}

// For any shares, any number of servers and short steps at the end of an epoch, the parameters
// equal those of all_reduce.
RC_GTEST_PROP(PsBsp, EqualsAllReduce, ()) {
  const int workers = *rc::gen::inRange(1, 7);
  Job job = simulated_job("all_reduce", equal_speeds(workers), *rc::gen::inRange(workers, 64),
                          *rc::gen::inRange(1, 40));
  for (std::size_t rank = 0; rank < job.strategy.shares.size(); ++rank) {
    job.cluster.speeds[rank] = *rc::gen::element(0.25, 0.5, 1.0);
    job.strategy.shares[rank] = *rc::gen::element(1.0, 2.0, 5.0);
  }
  job.strategy.allocation = *rc::gen::element<std::string>("equal", "static");
  const auto samples = *rc::gen::inRange<std::int64_t>(70, 300);
  const auto expected = trained(job, samples);
  job.strategy.sync = "ps_bsp";
  job.strategy.ps.servers = *rc::gen::inRange(1, workers + 1);
  RC_ASSERT(relative_difference(trained(job, samples), expected) < 1e-5);
}

// Only if the data set is a multiple of the batch; otherwise the methods cut epochs differently.
TEST(PsSsp, WithoutStalenessEqualsBsp) {
  for (const int servers : {1, 3}) {
    Job job = simulated_job("ps_bsp", {1, 0.5, 1, 0.25}, 40, 60);
    job.strategy.ps.servers = servers;
    const auto expected = trained(job, 400);
    job.strategy.sync = "ps_ssp";
    job.strategy.of<PsSspOptions>().staleness = 0;
    EXPECT_LT(relative_difference(trained(job, 400), expected), 1e-5);
    // The comparison is meaningful: with staleness the model differs.
    job.strategy.of<PsSspOptions>().staleness = 3;
    EXPECT_GT(relative_difference(trained(job, 400), expected), 1e-5);
  }
}

TEST(PsSsp, NobodyGetsFurtherAheadThanTheBound) {
  int reached = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed, 0x55b);
    std::vector<double> speeds(2 + random.below(5));
    for (double& speed : speeds) {
      speed = 0.1 + random.uniform();
    }
    Job job = simulated_job("ps_ssp", speeds, 20 * std::ssize(speeds), 40);
    // Of two answers that a server gives at the same time, one arrives first.
    for (double& bandwidth : job.cluster.bandwidth) {
      bandwidth *= 0.1 + random.uniform();
    }
    job.strategy.of<PsSspOptions>().staleness = static_cast<std::int64_t>(random.below(5));
    job.strategy.ps.servers = 1 + static_cast<int>(random.below(speeds.size()));
    job.cluster.slowdowns = {{0.2, 5}};
    // A worker that is s commits ahead has begun one more iteration than it has committed.
    const std::int64_t gap = simulate_phantom(job).service.max_iteration_gap;
    EXPECT_LE(gap, job.strategy.of<PsSspOptions>().staleness + 1);
    reached += gap == job.strategy.of<PsSspOptions>().staleness + 1 ? 1 : 0;
  }
  EXPECT_GT(reached, 100);
}

TEST(PsAsp, NobodyWaits) {
  Job job = simulated_job("ps_asp", {1, 1, 1, 0.25}, 400, 100);
  const RunOutcome outcome = simulate_phantom(job);
  EXPECT_GT(outcome.service.max_iteration_gap, 50);
  // The speed of 3.25 of 4 workers, because commits are short here.
  EXPECT_NEAR(static_cast<double>(outcome.samples) / outcome.seconds / 3250, 1, 0.05);
  const RunOutcome bsp = [&] {
    job.strategy.sync = "ps_bsp";
    return simulate_phantom(job);
  }();
  EXPECT_GT(bsp.seconds / outcome.seconds, 2.8);
}

TEST(Ps, LearnsTheRightAnswer) {
  for (const char* sync : {"ps_bsp", "ps_asp", "ps_ssp", "adsp", "ashl"}) {
    ToyTask task(1'000, 10, 3, 0.05);
    QuietMonitor monitor;
    Job job = simulated_job(sync, {1, 0.5, 0.25}, 60, 800);
    job.strategy.ps.servers = 2;
    job.strategy.codec = method_of(job).schema.default_codec;
    simulate(job, task, monitor);
    ASSERT_FALSE(monitor.metrics.empty());
    EXPECT_GT(monitor.metrics.back().accuracy, 0.99) << sync;
  }
}

TEST(Ps, EveryCodecLearns) {
  for (const CodecKind codec :
       {CodecKind::kFp16, CodecKind::kBf16, CodecKind::kInt8, CodecKind::kTopk}) {
    for (const char* sync : {"ps_bsp", "ps_asp", "ps_ssp", "adsp"}) {
      ToyTask task(1'000, 10, 3, 0.02);
      QuietMonitor monitor;
      Job job = simulated_job(sync, {1, 0.5, 0.25}, 60, 1'500);
      job.strategy.codec = codec;
      job.strategy.topk.ratio = 0.3;
      simulate(job, task, monitor);
      EXPECT_GT(monitor.metrics.back().accuracy, 0.95) << name_of(codec) << " " << sync;
    }
  }
}

TEST(Ps, EverySampleIsUsedOnce) {
  for (const char* sync : {"ps_asp", "ps_ssp", "adsp", "ashl"}) {
    for (const bool stopped : {false, true}) {
      SCOPED_TRACE(sync);
      expect_every_sample_once(simulated_job(sync, {1, 0.3, 0.6}, 30, 50), 211, stopped);
    }
  }
}

TEST(Ps, EvaluationsComeWhenDueAndTheTargetEndsTheRun) {
  for (const char* sync : {"ps_asp", "ps_ssp"}) {
    SCOPED_TRACE(sync);
    expect_evaluations_and_an_end_at_the_target(simulated_job(sync, {1, 0.5, 0.25}, 100, 1));
  }
}

// One evaluation at a time: their times and samples never decrease.
TEST(Ps, EvaluationsComeInOrder) {
  for (const char* sync : {"ps_asp", "adsp", "ashl"}) {
    Job job = simulated_job(sync, {1, 0.05, 0.05, 0.05}, 40, 300);
    job.train.eval_every = 2;
    job.strategy.of<AdspOptions>().period = 0.1;
    ToyTask task(1'000, 10, 3, 0.01);
    QuietMonitor monitor;
    simulate(job, task, monitor);
    EXPECT_GT(monitor.metrics.size(), 10U) << sync;
    EXPECT_TRUE(std::ranges::is_sorted(monitor.metrics, {}, &Metric::samples)) << sync;
    EXPECT_TRUE(std::ranges::is_sorted(monitor.metrics, {}, &Metric::seconds)) << sync;
  }
}

TEST(Ps, AllEndWithTheSameModel) {
  for (const char* sync : {"ps_asp", "ps_ssp", "adsp", "ashl"}) {
    const Job job = [&] {
      Job it = simulated_job(sync, {1, 0.5, 0.7}, 30, 20);
      it.strategy.ps.servers = 2;
      return it;
    }();
    Models models = still_models(3, 50, 7);
    run_all(job, 500, models);
    for (const auto& model : models) {
      EXPECT_TRUE(
          std::ranges::equal(model->parameters().floats(), models.front()->parameters().floats()))
          << sync;
      EXPECT_TRUE(
          std::ranges::equal(model->buffers().floats(), models.front()->buffers().floats()));
    }
  }
}

TEST(Ps, ALostWorkerEndsTheRun) {
  for (const char* sync : {"ps_bsp", "ps_asp", "ps_ssp", "adsp", "ashl"}) {
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      SCOPED_TRACE(sync);
      expect_an_end_when_a_worker_is_lost(simulated_job(sync, {1, 0.5, 0.7}, 30, 1), seed);
    }
  }
}

TEST(Ps, ALostServerEndsTheRun) {
  for (const char* sync : {"ps_bsp", "ps_asp", "adsp", "ashl"}) {
    const Job job = simulated_job(sync, {1, 0.5, 0.7}, 30, 1'000);
    Models models = still_models(3, 30, 1);
    SimCluster cluster(job.cluster, servers_of(job));
    start_all(cluster, job, 5'000, models);
    cluster.fail(3, 0.05, "its plug was pulled");
    EXPECT_THROW(cluster.run(), Interrupted) << sync;
  }
}

// An invalid message ends the server with an error that names the sender, not with a crash.
TEST(Ps, AServerIsToldNonsense) {
  const Header commit = CommitHeader{1, 1.0, false}.header();
  const Payload numbers = Payload::copy_of(std::vector<float>(5, 1.0F));
  struct Said {
    Header header;
    Payload payload;
  };
  const std::vector<std::vector<Said>> cases = {
      {{commit, numbers}, {commit, numbers}},                     // the same step again
      {{CommitHeader{-7, 1.0, false}.header(), numbers}},         // a step below 0
      {{header_of(ServerKind::kPull), {}}},                       // a pull without a commit
      {{BeginHeader{5, 0}.header(), numbers}},                    // a second begin
      {{{99}, numbers}},                                          // an unknown kind
      {{commit, Payload::copy_of(std::vector<float>(4, 1.0F))}},  // one number too few
      {{header_of(ServerKind::kLeave), {}}, {header_of(ServerKind::kLeave), {}}},
  };
  for (const auto& said : cases) {
    const Job job = simulated_job("ps_ssp", equal_speeds(2), 20, 10);
    SimCluster cluster(job.cluster, 1);
    cluster.start(2, [&](Node& node) { run_server(node, job); });
    cluster.start(0, [&](Node& node) {
      node.send(2, Channel::kServer, BeginHeader{5, 0}.header(), numbers);
      for (const auto& [header, payload] : said) {
        node.send(2, Channel::kServer, header, payload);
      }
    });
    try {
      cluster.run();
      FAIL() << "it went on";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "worker 0 sent an invalid commit");
    }
  }
}

// Pushes are encoded, answers are not.
TEST(Ps, WorkersSendWhatTheCodecSays) {
  const auto bytes = [](const char* sync, CodecKind codec) {
    Job job = simulated_job(sync, equal_speeds(4), 400, 300);
    job.strategy.codec = codec;
    double sum = 0;
    for (const WorkerSummary& worker : simulate_phantom(job).workers) {
      sum += static_cast<double>(worker.bytes_sent);
    }
    return sum;
  };
  for (const char* sync : {"ps_bsp", "ps_asp", "ps_ssp"}) {
    const double plain = bytes(sync, CodecKind::kNone);
    EXPECT_NEAR(bytes(sync, CodecKind::kFp16) / plain, 0.5, 0.01) << sync;
    EXPECT_NEAR(bytes(sync, CodecKind::kBf16) / plain, 0.5, 0.01) << sync;
    EXPECT_LT(bytes(sync, CodecKind::kInt8) / plain, 0.27) << sync;
    EXPECT_LT(bytes(sync, CodecKind::kTopk) / plain, 0.025) << sync;
  }
}

}  // namespace
}  // namespace motley
