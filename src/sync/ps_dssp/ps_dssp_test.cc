#include "sync/ps_dssp/ps_dssp.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "motley/sync/ps.h"
#include "motley/sync/ps_dssp.h"
#include "tests/job_text.h"
#include "tests/recording_monitor.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley::ps_dssp_test {
namespace {

Job dssp_job(const std::vector<double>& speeds, std::int64_t low, std::int64_t high) {
  Job job = simulated_job("ps_dssp", speeds, 20 * std::ssize(speeds), 60);
  job.strategy.of<PsDsspOptions>() = {low, high};
  return job;
}

// The example of the paper's Figure 3: the fast worker commits every second, the slow one every 3
// s.
TEST(ExtraCommits, StopWhereTheSlowestWorkerIsAboutToCommit) {
  const CommitPace fast{.last = 10, .interval = 1};
  EXPECT_EQ(extra_commits(fast, {.last = 9.5, .interval = 3}, 4), 2);  // 12 is closest to 12.5
  EXPECT_EQ(extra_commits(fast, {.last = 7, .interval = 3}, 4),
            0);  // the slowest commits right now
  EXPECT_EQ(extra_commits(fast, {.last = 10, .interval = 3}, 4), 3);
  EXPECT_EQ(extra_commits(fast, {.last = 10, .interval = 3}, 1), 1);  // the most that is allowed
}

TEST(ExtraCommits, AreNoneWhileAPaceIsNotKnown) {
  EXPECT_EQ(extra_commits({.last = 1, .interval = {}}, {.last = 1, .interval = 3}, 9), 0);
  EXPECT_EQ(extra_commits({.last = 1, .interval = 1}, {.last = 0, .interval = {}}, 9), 0);
}

RC_GTEST_PROP(ExtraCommits, NeverWaitLongerThanNoneWould, ()) {
  const auto seconds = [] { return *rc::gen::inRange(1, 1'000) / 64.0; };
  const CommitPace fast{.last = seconds(), .interval = seconds()};
  const CommitPace slowest{.last = seconds(), .interval = seconds()};
  const auto most = *rc::gen::inRange<std::int64_t>(0, 20);
  const std::int64_t extra = extra_commits(fast, slowest, most);
  RC_ASSERT(extra >= 0 && extra <= most);
  const auto distance = [&](std::int64_t r) {
    Seconds least = 1e9;
    for (std::int64_t k = 0; k <= most; ++k) {
      const Seconds commit = slowest.last + static_cast<double>(k + 1) * *slowest.interval;
      least =
          std::min(least, std::abs(commit - fast.last - static_cast<double>(r) * *fast.interval));
    }
    return least;
  };
  for (std::int64_t r = 0; r <= most; ++r) {
    RC_ASSERT(distance(extra) <= distance(r) + 1e-9);
  }
}

// Imitates a server and its workers, which commit in random order as far as the gate allows.
struct GateSchedule {
  GateSchedule(CommitGate& its_gate, int workers)
      : gate(its_gate), steps(static_cast<std::size_t>(workers), 0) {}

  bool can_commit(Rank worker) const { return !waiting.contains(worker) && !left.contains(worker); }

  void commit(Rank worker, Seconds now) {
    waiting.insert(worker);
    gate.arrive({worker, steps[static_cast<std::size_t>(worker)] + 1, now});
    ++steps[static_cast<std::size_t>(worker)];
    settle();
  }

  void leave(Rank worker) {
    left.insert(worker);
    gate.leave(worker);
    settle();
  }

  void settle() {
    for (const GateDecision& decision : gate.decide()) {
      if (decision.applied) {
        ASSERT_EQ(waiting.erase(decision.worker), 1U) << "applied twice";
        largest_gap = std::max(largest_gap, gap_of(decision.worker));
      }
    }
  }

  std::int64_t gap_of(Rank worker) const {
    std::int64_t least = steps[static_cast<std::size_t>(worker)];
    for (Rank other = 0; other < std::ssize(steps); ++other) {
      if (!left.contains(other)) {
        least = std::min(least, steps[static_cast<std::size_t>(other)]);
      }
    }
    return steps[static_cast<std::size_t>(worker)] - least;
  }

  CommitGate& gate;
  std::vector<std::int64_t> steps;
  std::set<Rank> waiting;
  std::set<Rank> left;
  std::int64_t largest_gap = 0;
};

// The gap of an applied commit never exceeds the upper bound, at least one worker can always
// continue, and every commit is applied once all others have left.
TEST(DynamicStaleness, KeepsTheUpperBoundInThousandsOfSchedules) {
  std::int64_t beyond_low = 0;
  for (std::uint64_t seed = 0; seed < 5'000; ++seed) {
    Random random(seed, 0xd55b);
    const int workers = 1 + static_cast<int>(random.below(6));
    const auto low = static_cast<std::int64_t>(random.below(4));
    const auto high = low + static_cast<std::int64_t>(random.below(8));
    DynamicStaleness gate(workers, low, high);
    GateSchedule schedule(gate, workers);
    Seconds now = 0;
    for (int i = 0; i < 60; ++i) {
      now += random.uniform();
      std::vector<Rank> free;
      for (Rank rank = 0; rank < workers; ++rank) {
        if (schedule.can_commit(rank)) {
          free.push_back(rank);
        }
      }
      ASSERT_FALSE(free.empty()) << seed;
      const auto lot = random.below(free.size() + 2);  // the last of them is the fastest
      schedule.commit(free[std::min<std::size_t>(lot, free.size() - 1)], now);
    }
    ASSERT_LE(schedule.largest_gap, high) << seed;
    beyond_low += schedule.largest_gap > low ? 1 : 0;
    while (schedule.left.size() < static_cast<std::size_t>(workers)) {
      Rank free = 0;
      while (free < workers && !schedule.can_commit(free)) {
        ++free;
      }
      ASSERT_LT(free, workers) << "commits wait for nobody, seed " << seed;
      schedule.leave(free);
    }
    ASSERT_TRUE(schedule.waiting.empty()) << seed;
  }
  EXPECT_GT(beyond_low, 500);
}

// If both bounds are equal, there is nothing to choose: the decisions, and so the runs, are those
// of ps_ssp.
TEST(PsDssp, WithEqualBoundsIsSspToTheBit) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed, 0xd55);
    std::vector<double> speeds;
    for (int i = 0; i < 4; ++i) {
      speeds.push_back(0.1 + random.uniform());
    }
    const auto bound = static_cast<std::int64_t>(random.below(5));
    Job dssp = dssp_job(speeds, bound, bound);
    dssp.seed = seed;
    dssp.strategy.ps.servers = 1 + static_cast<int>(random.below(3));
    dssp.cluster.slowdowns = {{0.2, 4}};
    Job ssp = dssp;
    ssp.strategy.sync = "ps_ssp";
    ssp.strategy.of<PsSspOptions>().staleness = bound;
    ToyTask task(500, 10, 3, 0.1);
    QuietMonitor first;
    QuietMonitor second;
    const RunOutcome one = simulate(dssp, task, first);
    const RunOutcome other = simulate(ssp, task, second);
    ASSERT_EQ(one.model.parameters, other.model.parameters) << seed;
    ASSERT_EQ(one.seconds, other.seconds) << seed;
    ASSERT_EQ(one.service.max_iteration_gap, other.service.max_iteration_gap) << seed;
  }
}

// A worker begins its next iteration only after its commit was answered, so the gap between
// iterations is at most one more than the gap between commits.
TEST(PsDssp, GapsBetweenWorkersStayBounded) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed, 0xd56);
    std::vector<double> speeds = {1, 1, 0.1 + random.uniform(), 0.05 + random.uniform()};
    const auto low = static_cast<std::int64_t>(random.below(3));
    const auto high = low + static_cast<std::int64_t>(random.below(6));
    Job job = dssp_job(speeds, low, high);
    job.seed = seed;
    job.cluster.slowdowns = {{0.3, 5}};
    const RunOutcome outcome = simulate_phantom(job);
    ASSERT_LE(outcome.service.max_iteration_gap, high + 1) << seed;
  }
}

TEST(PsDssp, LearnsTheRightAnswer) {
  Job job = dssp_job({1, 1, 1, 0.3}, 1, 6);
  job.train.batch = 100;
  job.train.steps = 600;
  ToyTask task(1'000, 10, 3, 0.1);
  QuietMonitor monitor;
  simulate(job, task, monitor);
  ASSERT_FALSE(monitor.metrics.empty());
  EXPECT_GT(monitor.metrics.back().accuracy, 0.99);
}

TEST(PsDssp, TheBoundsAreInOrder) {
  EXPECT_EQ(error_of("[strategy]\nsync = 'ps_dssp'\nps_dssp.staleness_low = 5\n"
                     "ps_dssp.staleness_high = 4"),
            "job.toml:3: strategy.ps_dssp.staleness_low is 5, but staleness_high is 4: it must "
            "not be above staleness_high");
  const Job job = good("[strategy]\nsync = 'ps_dssp'\nps_dssp.staleness_high = 9");
  EXPECT_EQ(job.strategy.of<PsDsspOptions>().staleness_low, 3);
  EXPECT_EQ(servers_of(job), 1);
}

}  // namespace
}  // namespace motley::ps_dssp_test
