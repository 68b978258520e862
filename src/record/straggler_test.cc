#include "record/straggler.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

namespace motley {
namespace {

// Ten steps in lock-step of workers with these times per sample, times to move bytes, and shares.
struct PacedWorker {
  double share = 64;
  Seconds per_sample = 1e-3;
  Seconds bytes = 1e-3;
};

std::vector<WorkerPace> in_lock_step(const std::vector<PacedWorker>& machines) {
  Seconds step = 0;
  for (const PacedWorker& machine : machines) {
    step = std::max(step, machine.share * machine.per_sample + machine.bytes);
  }
  std::vector<WorkerPace> workers;
  for (const PacedWorker& machine : machines) {
    const Seconds compute = machine.share * machine.per_sample;
    workers.push_back({static_cast<Rank>(workers.size()), 10, 10 * machine.share, 10 * compute,
                       10 * machine.bytes, 10 * (step - compute - machine.bytes)});
  }
  return workers;
}

TEST(Straggler, IsWhoTakesLongerForASample) {
  const auto straggler = find_straggler(in_lock_step({{}, {}, {}, {.per_sample = 4e-3}}));
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 3);
  EXPECT_EQ(straggler->reason, "takes 4.0x as long for a sample as the median worker");
}

TEST(Straggler, IsNobodyWhoHasComeOnlyLately) {
  auto workers = in_lock_step({{}, {}, {.per_sample = 2e-3}, {.per_sample = 4e-3}});
  WorkerPace& newcomer = workers.back();
  newcomer = {3, 2, 2 * newcomer.samples / 10, newcomer.compute / 5, newcomer.communicate / 5, 0};
  const auto straggler = find_straggler(workers);
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 2);
}

TEST(Straggler, OrHasTheLargerShare) {
  const auto straggler = find_straggler(in_lock_step({{}, {.share = 128}, {}, {}}));
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->reason,
            "takes 2.0x as long for a step as the median worker, with a larger share");
}

TEST(Straggler, OrTheSlowerLink) {
  const auto straggler = find_straggler(in_lock_step({{}, {}, {.bytes = 0.05}}));
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 2);
  EXPECT_EQ(straggler->reason, "takes 50.0x as long to move bytes as the median worker");
}

TEST(Straggler, IsNamedBesideWhoWaitsWhereMostAreAsSlow) {
  const PacedWorker slow{.per_sample = 4e-3};
  const auto straggler = find_straggler(in_lock_step({{}, slow, slow, slow}));
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 1);
  EXPECT_EQ(straggler->reason, "takes 4.0x as long for a sample as worker 0, which waits");
}

// A ring over one slow link: it delays all workers equally.
TEST(Straggler, IsWhoseBytesAreLongOnTheirWay) {
  std::vector<WorkerPace> workers;
  for (const Rank rank : {0, 1, 2, 3}) {
    workers.push_back({rank, 10, 100, 1, 3, 1, rank == 2 ? 2.5 : 0.1, 1e6});
  }
  const auto straggler = find_straggler(workers);
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 2);
  EXPECT_EQ(straggler->reason, "has a slow link: bytes take 25.0x as long as with worker 0");
  workers[2].transit = 0.01;  // fast: takes next to no time
  EXPECT_FALSE(find_straggler(workers));
  for (WorkerPace& worker : workers) {
    worker.transit = worker.rank == 2 ? 2.5 : 0.1;
    worker.compute = 100;  // exchanges take a small part of the time
  }
  EXPECT_FALSE(find_straggler(workers));
}

TEST(Straggler, IsNobodyWhereNobodyWaits) {
  EXPECT_FALSE(find_straggler(in_lock_step({{}, {}, {}})));
  EXPECT_FALSE(find_straggler(in_lock_step({{}, {.per_sample = 1.01e-3}, {}})));
  EXPECT_FALSE(find_straggler(in_lock_step({{}})));
  EXPECT_FALSE(find_straggler({}));
  // Each at its own pace: the slow one keeps no other waiting.
  const std::vector<WorkerPace> own_pace = {{0, 40, 40, 10, 0, 0}, {1, 10, 10, 10, 0, 0}};
  EXPECT_FALSE(find_straggler(own_pace));
}

TEST(Straggler, IsNotWhoHasNotBegun) {
  const std::vector<WorkerPace> workers = {
      {0, 0, 0, 0, 0, 0}, {1, 5, 5, 1, 0, 9}, {2, 5, 5, 10, 0, 0}};
  const auto straggler = find_straggler(workers);
  ASSERT_TRUE(straggler);
  EXPECT_EQ(straggler->rank, 2);
}

RC_GTEST_PROP(Straggler, WaitsLeast, ()) {
  const auto speeds = *rc::gen::container<std::vector<int>>(rc::gen::inRange(1, 20));
  std::vector<PacedWorker> machines;
  for (const int speed : speeds) {
    machines.push_back({.per_sample = 1e-3 * speed});
  }
  const auto workers = in_lock_step(machines);
  const auto straggler = find_straggler(workers);
  const auto slowest = speeds.empty() ? 0 : std::ranges::max(speeds);
  if (straggler) {
    RC_ASSERT(speeds[static_cast<std::size_t>(straggler->rank)] == slowest);
    RC_ASSERT(!straggler->reason.empty());
  } else if (speeds.size() > 1) {
    RC_ASSERT(std::ranges::min(speeds) >= 0.9 * slowest);
  }
}

}  // namespace
}  // namespace motley
