#include "sync/allocator.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "cluster/cost.h"
#include "sim/cluster.h"

namespace motley {
namespace {

Job job_of(const std::vector<double>& speeds, std::int64_t batch, const std::string& allocation) {
  Job job;
  job.train.batch = batch;
  job.strategy.allocation = allocation;
  job.strategy.shares.assign(speeds.size(), 1.0);
  job.cluster.workers = static_cast<int>(speeds.size());
  job.cluster.speeds = speeds;
  job.cluster.unit = 1e-3;
  job.cluster.bandwidth.assign(speeds.size(), 1.25e9);
  return job;
}

// A run without an end.
LedgerOptions ledger_of(std::int64_t dataset, std::int64_t batch) {
  return {dataset, batch, std::numeric_limits<std::int64_t>::max(), 1};
}

struct Ended {
  AllocationResult allocation;
  std::int64_t samples = 0;
};

// `steps` steps of every worker, with nothing to exchange but what the Allocator does.
std::vector<Ended> run(const Job& job, const LedgerOptions& ledger, Advance advance, int steps) {
  std::vector<Ended> ended(static_cast<std::size_t>(job.cluster.workers));
  SimCluster cluster(job.cluster);
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    cluster.start(rank, [&](Node& node) {
      Journal unread(0);
      Allocator allocator(node, job, ledger, advance, unread);
      CostModel cost(job.cluster, node.rank(), job.seed, job.train.micro_batch_of(node.rank()));
      Ended& mine = ended[static_cast<std::size_t>(node.rank())];
      for (int step = 1; step <= steps; ++step) {
        const std::size_t samples = allocator.next_share();
        allocator.take_effect();
        const Seconds began = node.now();
        node.busy(cost.next_step(began, samples), [] {});
        allocator.after_step(samples, node.now() - began, step * ledger.batch);
        mine.samples += static_cast<std::int64_t>(samples);
      }
      mine.allocation = allocator.result();
    });
  }
  cluster.run();
  return ended;
}

std::vector<double> any_speeds() {
  return *rc::gen::container<std::vector<double>>(
      *rc::gen::inRange<std::size_t>(1, 17),
      rc::gen::map(rc::gen::inRange(1, 9), [](int s) { return s * 0.5; }));
}

RC_GTEST_PROP(Allocator, AllRanksHoldTheSameSharesAtEveryMoment, ()) {
  const auto speeds = any_speeds();
  const auto allocation = *rc::gen::element<std::string>("equal", "static", "adaptive", "dynamic");
  Job job = job_of(speeds, 40 * static_cast<std::int64_t>(speeds.size()), allocation);
  job.cluster.slowdowns = {{0.2, 3}, {0.5, 1.1}};
  job.cluster.events = {{.at = 1.0, .worker = 0, .speed = 0.25}};
  job.seed = *rc::gen::arbitrary<std::uint32_t>();
  const LedgerOptions ledger = ledger_of(7 * job.train.batch, job.train.batch);
  const auto ended = run(job, ledger, Advance::kTogether, 60);
  const auto& history = ended[0].allocation.history;
  for (std::size_t rank = 0; rank < ended.size(); ++rank) {
    const auto& own = ended[rank].allocation.history;
    const bool is_fixed = allocation == "equal" || allocation == "static";
    RC_ASSERT(own.size() == (is_fixed && rank > 0 ? 0 : history.size()));
    for (std::size_t i = 0; i < own.size(); ++i) {
      RC_ASSERT(own[i].step == history[i].step);
      RC_ASSERT(own[i].decision.shares == history[i].decision.shares);
      RC_ASSERT(own[i].decision.reason == history[i].decision.reason);
    }
    RC_ASSERT(ended[rank].allocation.share == history.back().decision.shares[rank]);
  }
  for (const ShareChange& change : history) {
    const Shares& shares = change.decision.shares;
    RC_ASSERT(std::accumulate(shares.begin(), shares.end(), std::size_t{0}) ==
              static_cast<std::size_t>(job.train.batch));
    RC_ASSERT(std::ranges::min(shares) >= 1U);
  }
}

// Workers without a common step: nobody waits, and after some windows all steps take as long.
TEST(Allocator, ScalesEachWorkersOwnBatch) {
  for (const char* allocation : {"adaptive", "dynamic"}) {
    const Job job = job_of({1, 2, 4, 0.5}, 600, allocation);
    const LedgerOptions ledger = ledger_of(12'000, 600);
    const auto ended = run(job, ledger, Advance::kAtOwnPace, 200);
    const Shares best = integer_shares(600, job.cluster.speeds);
    for (std::size_t rank = 0; rank < ended.size(); ++rank) {
      const auto share = static_cast<double>(ended[rank].allocation.share);
      EXPECT_NEAR(share, static_cast<double>(best[rank]), 2) << allocation << " " << rank;
    }
  }
}

TEST(Allocator, StepsOfTheirOwnPaceNeedNobodyToAnswer) {
  const Job job = job_of({1, 1, 0.001}, 300, "adaptive");
  const LedgerOptions ledger = ledger_of(3'000, 300);
  SimCluster cluster(job.cluster);
  Seconds fast_done = 0;
  for (Rank rank = 0; rank < 3; ++rank) {
    cluster.start(rank, [&](Node& node) {
      Journal unread(0);
      Allocator allocator(node, job, ledger, Advance::kAtOwnPace, unread);
      for (std::int64_t step = 1; step <= 50; ++step) {
        node.busy(node.rank() == 2 ? 100.0 : 0.1, [] {});
        allocator.take_effect();
        allocator.after_step(allocator.next_share(), 0.1, step * 300);
      }
      fast_done = node.rank() == 0 ? node.now() : fast_done;
    });
  }
  cluster.run();
  EXPECT_LT(fast_done, 5.2);
}

TEST(Allocator, AShortStepIsSharedInProportion) {
  Job job = job_of({1, 1, 1, 1}, 100, "static");
  job.strategy.shares = {1, 2, 3, 4};
  const std::vector<Shares> expected = {
      {10, 20, 30, 40}, {5, 10, 15, 20}, {1, 1, 1, 2}, {0, 0, 1, 1}};
  SimCluster cluster(job.cluster);
  for (Rank rank = 0; rank < 4; ++rank) {
    cluster.start(rank, [&](Node& node) {
      Journal unread(0);
      Allocator allocator(node, job, ledger_of(1'000, 100), Advance::kTogether, unread);
      for (const Shares& shares : expected) {
        const auto count = static_cast<std::int64_t>(
            std::accumulate(shares.begin(), shares.end(), std::size_t{0}));
        const StepSamples step{3, 70, count};
        EXPECT_EQ(allocator.part_of(step), share_of(step, shares, node.rank())) << count;
      }
    });
  }
  cluster.run();
}

// Two workers of one speed; the second computes 100 samples at once. One more would cost it another
// 50 ms.
TEST(Allocator, KnowsThatEveryPartHasTheOverhead) {
  for (const Advance advance : {Advance::kTogether, Advance::kAtOwnPace}) {
    for (const char* allocation : {"adaptive", "dynamic"}) {
      Job job = job_of({1, 1}, 240, allocation);
      job.cluster.overhead = {0.05, 0.05};
      job.train.micro_batch = {1'000, 100};
      const auto ended = run(job, ledger_of(std::int64_t{20} * 240, 240), advance, 400);
      const std::size_t share = ended[1].allocation.share;
      EXPECT_LE(share, 100U) << allocation;
      EXPECT_GE(share, 90U) << allocation;
      const StepCost& cost = ended[1].allocation.cost;
      EXPECT_NEAR(cost.fixed, 0.05, 0.002) << allocation;
      EXPECT_NEAR(cost.of(240), 3 * 0.05 + 0.24, 0.01) << allocation;
    }
  }
}

TEST(Allocator, EstimatesSpeedsUnderEveryAllocation) {
  for (const char* allocation : {"equal", "static", "adaptive", "dynamic"}) {
    Job job = job_of({1, 2}, 100, allocation);
    job.cluster.overhead = {0.01, 0.01};
    const auto ended = run(job, ledger_of(1'000, 100), Advance::kTogether, 45);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      const auto& [history, last_look, share, cost] = ended[rank].allocation;
      const double seconds = 0.01 + static_cast<double>(share) * 1e-3 / job.cluster.speeds[rank];
      EXPECT_NEAR(cost.of(share), seconds, 0.01 * seconds) << allocation << " " << rank;
    }
  }
}

}  // namespace
}  // namespace motley
