#include "cluster/fault_plan.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

namespace motley {
namespace {

std::vector<ClusterEvent> first_of(FaultPlan plan, std::size_t most) {
  std::vector<ClusterEvent> events;
  while (plan.peek() && events.size() < most) {
    events.push_back(*plan.peek());
    plan.pop();
  }
  return events;
}

ClusterSpec with_churn(int workers, Churn churn) {
  ClusterSpec cluster;
  cluster.workers = workers;
  cluster.churn = churn;
  return cluster;
}

TEST(FaultPlan, HasTheEventsThatConcernMembers) {
  ClusterSpec cluster;
  EXPECT_EQ(FaultPlan(cluster).peek(), nullptr);
  cluster.events = {{.at = 1, .kind = EventKind::kDies, .worker = 3},
                    {.at = 2, .kind = EventKind::kSpeed, .worker = 3},
                    {.at = 2, .kind = EventKind::kLatency, .worker = 3},
                    {.at = 2, .kind = EventKind::kFreezes, .worker = 1, .seconds = 5},
                    {.at = 2, .kind = EventKind::kLeaves, .worker = 0},
                    {.at = 3, .kind = EventKind::kJoins, .worker = 9}};
  const auto events = first_of(FaultPlan(cluster), 10);
  ASSERT_EQ(events.size(), 4U);
  EXPECT_EQ(events[0].kind, EventKind::kDies);
  EXPECT_EQ(events[1].kind, EventKind::kFreezes);
  EXPECT_EQ(events[1].seconds, 5);
  EXPECT_EQ(events[2].kind, EventKind::kLeaves);
  EXPECT_EQ(events[3].worker, 9);
}

RC_GTEST_PROP(FaultPlan, ChurnIsOrderedAndWorkersAlternate, ()) {
  const int workers = *rc::gen::inRange(1, 20);
  ClusterSpec cluster = with_churn(workers, {.mtbf = 100, .mttr = 10});
  cluster.churn->seed = *rc::gen::arbitrary<std::uint64_t>();
  cluster.events = {{.at = 20, .kind = EventKind::kFreezes, .worker = 0, .seconds = 1}};
  Seconds before = 0;
  std::map<int, bool> is_gone;
  int of_job = 0;
  for (const ClusterEvent& event : first_of(FaultPlan(cluster), 500)) {
    RC_ASSERT(event.at >= before);
    before = event.at;
    if (event.kind == EventKind::kFreezes) {
      ++of_job;
      continue;
    }
    RC_ASSERT(event.worker >= 0 && event.worker < workers);
    RC_ASSERT(event.kind == (is_gone[event.worker] ? EventKind::kJoins : EventKind::kDies));
    is_gone[event.worker] = !is_gone[event.worker];
  }
  RC_ASSERT(of_job == 1);
}

TEST(FaultPlan, ChurnHasTheMeansOfTheJob) {
  constexpr int kEvents = 40'000;
  Seconds up = 0;
  Seconds down = 0;
  std::map<int, Seconds> since;
  for (const auto& event : first_of(FaultPlan(with_churn(4, {.mtbf = 60, .mttr = 5})), kEvents)) {
    (event.kind == EventKind::kDies ? up : down) += event.at - since[event.worker];
    since[event.worker] = event.at;
  }
  EXPECT_NEAR(up / (kEvents / 2), 60, 2);
  EXPECT_NEAR(down / (kEvents / 2), 5, 0.2);
}

// The times of a worker depend on the seed and its id alone.
TEST(FaultPlan, WorkersHaveIndependentTimes) {
  const auto of_worker = [](int worker, int workers, std::uint64_t seed) {
    std::vector<Seconds> times;
    for (const auto& event :
         first_of(FaultPlan(with_churn(workers, {.mtbf = 60, .mttr = 5, .seed = seed})), 1000)) {
      if (event.worker == worker && times.size() < 10) {
        times.push_back(event.at);
      }
    }
    return times;
  };
  EXPECT_EQ(of_worker(1, 2, 7), of_worker(1, 8, 7));
  EXPECT_NE(of_worker(1, 2, 7), of_worker(1, 2, 8));
  EXPECT_NE(of_worker(1, 2, 7), of_worker(0, 2, 7));
}

TEST(FaultPlan, SkipsWhatHasHappened) {
  FaultPlan plan(with_churn(4, {.mtbf = 60, .mttr = 5}));
  const auto all = first_of(plan, 200);
  plan.skip_until(all[120].at);
  EXPECT_EQ(plan.peek()->at, all[121].at);
  EXPECT_EQ(plan.peek()->worker, all[121].worker);
}

}  // namespace
}  // namespace motley
