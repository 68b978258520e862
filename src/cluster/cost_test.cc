#include "cluster/cost.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace motley {
namespace {

ClusterSpec two_workers() {
  ClusterSpec cluster;
  cluster.workers = 2;
  cluster.unit = 0.5;
  cluster.overhead = {3, 4};
  cluster.speeds = {1, 0.25};
  return cluster;
}

std::vector<Seconds> costs(const ClusterSpec& cluster, Rank rank, std::uint64_t seed, int steps) {
  CostModel model(cluster, rank, seed);
  std::vector<Seconds> result(static_cast<std::size_t>(steps));
  std::ranges::generate(result, [&] { return model.next_step(0, 10); });
  return result;
}

TEST(CostModel, IsOverheadAndSamplesAtTheWorkersSpeed) {
  EXPECT_DOUBLE_EQ(CostModel(two_workers(), 0, 1).next_step(0, 10), 3 + 10 * 0.5);
  EXPECT_DOUBLE_EQ(CostModel(two_workers(), 1, 1).next_step(0, 10), 4 + 10 * 0.5 / 0.25);
  EXPECT_DOUBLE_EQ(CostModel(two_workers(), 1, 1).next_step(0, 0), 4);
}

TEST(CostModel, EveryPartHasTheOverhead) {
  const auto cost = [](std::size_t samples, std::size_t micro_batch) {
    return CostModel(two_workers(), 0, 1, micro_batch).next_step(0, samples);
  };
  EXPECT_DOUBLE_EQ(cost(10, 10), 3 + 10 * 0.5);
  EXPECT_DOUBLE_EQ(cost(11, 10), 2 * 3 + 11 * 0.5);
  EXPECT_DOUBLE_EQ(cost(20, 10), 2 * 3 + 20 * 0.5);
  EXPECT_DOUBLE_EQ(cost(7, 1), 7 * 3 + 7 * 0.5);
  EXPECT_DOUBLE_EQ(cost(0, 10), 3);
}

TEST(CostModel, IsFreeOnAClusterThatIsNotPaced) {
  ClusterSpec cluster = two_workers();
  cluster.unit = 0;
  cluster.overhead = {};
  EXPECT_EQ(CostModel(cluster, 0, 1).next_step(0, 1000), 0);
}

TEST(CostModel, EventsChangeTheSpeedOfTheirWorker) {
  ClusterSpec cluster = two_workers();
  cluster.events = {{.at = 10, .worker = 1, .speed = 2}, {.at = 20, .worker = 1, .speed = 4}};
  CostModel changed(cluster, 1, 1);
  EXPECT_EQ(changed.speed_at(0), 0.25);
  EXPECT_EQ(changed.speed_at(9.999), 0.25);
  EXPECT_EQ(changed.speed_at(10), 2);
  EXPECT_EQ(changed.speed_at(25), 4);
  EXPECT_DOUBLE_EQ(changed.next_step(10, 10), 4 + 10 * 0.5 / 2);
  EXPECT_EQ(CostModel(cluster, 0, 1).speed_at(25), 1) << "other workers keep their speed";
  cluster.events = {{.at = 10, .kind = EventKind::kBandwidth, .worker = 1, .bandwidth = 5}};
  EXPECT_EQ(CostModel(cluster, 1, 1).speed_at(25), 0.25) << "a link is not a speed";
}

TEST(CostModel, SlowdownsComeAtTheirProbability) {
  ClusterSpec cluster = two_workers();
  cluster.slowdowns = {{.probability = 0.25, .factor = 6}};
  const auto all = costs(cluster, 0, 1, 20'000);
  const auto normal = std::ranges::count(all, 8.0);
  const auto slow = std::ranges::count(all, 48.0);
  EXPECT_EQ(normal + slow, 20'000) << "the overhead is slowed down too";
  EXPECT_NEAR(static_cast<double>(slow), 5000, 200);
}

TEST(CostModel, SlowdownsMultiply) {
  ClusterSpec cluster = two_workers();
  cluster.slowdowns = {{.probability = 1, .factor = 2}, {.probability = 1, .factor = 3}};
  EXPECT_EQ(costs(cluster, 0, 1, 3), std::vector<Seconds>(3, 8.0 * 6));
  cluster.slowdowns = {{.probability = 0, .factor = 100}};
  EXPECT_EQ(costs(cluster, 0, 1, 3), std::vector<Seconds>(3, 8.0));
}

TEST(CostModel, DrawsFromAStreamPerWorkerAndSeed) {
  ClusterSpec cluster = two_workers();
  cluster.speeds = {1, 1};
  cluster.overhead = {3, 3};
  cluster.slowdowns = {{.probability = 0.5, .factor = 2}};
  EXPECT_EQ(costs(cluster, 0, 1, 100), costs(cluster, 0, 1, 100));
  EXPECT_NE(costs(cluster, 0, 1, 100), costs(cluster, 1, 1, 100));
  EXPECT_NE(costs(cluster, 0, 1, 100), costs(cluster, 0, 2, 100));
}

TEST(CostModel, AWorkersStepsDoNotDependOnOthers) {
  ClusterSpec cluster = two_workers();
  cluster.slowdowns = {{.probability = 0.5, .factor = 2}};
  const auto alone = costs(cluster, 1, 1, 50);
  CostModel first(cluster, 0, 1);
  CostModel second(cluster, 1, 1);
  for (Seconds expected : alone) {
    first.next_step(0, 10);
    first.next_step(0, 7);
    EXPECT_EQ(second.next_step(0, 10), expected);
  }
}

TEST(IdealRate, IsTheSumOfTheWorkers) {
  ClusterSpec cluster = two_workers();
  EXPECT_DOUBLE_EQ(ideal_rate(cluster), 1.25 / 0.5);
  cluster.unit = 0;
  EXPECT_EQ(ideal_rate(cluster), 0);
}

}  // namespace
}  // namespace motley
