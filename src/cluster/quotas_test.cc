#include "cluster/quotas.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace motley {
namespace {

TEST(QuotasFor, KeepsTheRatioAndFitsTheMachine) {
  using Quotas = std::vector<double>;
  const auto quotas = [](Quotas speeds, int threads, int cores) {
    return quotas_for(speeds, threads, cores);
  };
  EXPECT_EQ(quotas({1, 1, 2}, 1, 2), (Quotas{0.5, 0.5, 1}));
  EXPECT_EQ(quotas({1, 1, 1, 1}, 1, 2), (Quotas{0.5, 0.5, 0.5, 0.5}));
  EXPECT_EQ(quotas({1, 4}, 1, 64), (Quotas{0.25, 1}));  // no worker has more than its threads
  EXPECT_EQ(quotas({1, 4}, 2, 64), (Quotas{0.5, 2}));
  EXPECT_EQ(quotas({}, 1, 2), Quotas{});
}

RC_GTEST_PROP(QuotasFor, IsTheMostThatKeepsRatioCapAndSum, ()) {
  const auto logs =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-6000, 6000)));
  const int threads = *rc::gen::inRange(1, 64);
  const int cores = *rc::gen::inRange(1, 256);
  std::vector<double> speeds;
  for (const int log : logs) {
    speeds.push_back(std::pow(10.0, log / 1000.0));
  }
  const auto quotas = quotas_for(speeds, threads, cores);
  RC_ASSERT(quotas.size() == speeds.size());
  const double most = std::ranges::max(quotas);
  const double sum = std::accumulate(quotas.begin(), quotas.end(), 0.0);
  constexpr double kNearly = 1 + 1e-9;
  RC_ASSERT(most <= threads * kNearly);
  RC_ASSERT(sum <= cores * kNearly);
  RC_ASSERT(most * kNearly >= threads || sum * kNearly >= cores);
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    RC_ASSERT(std::abs(quotas[i] / quotas[0] / (speeds[i] / speeds[0]) - 1) < 1e-9);
  }
}

TEST(QuotasAt, FollowsEventsAndLeavesTheOthersAlone) {
  ClusterSpec cluster;
  cluster.speeds = {1, 1, 0.5};
  cluster.events = {{.at = 10, .worker = 2, .speed = 2}, {.at = 20, .worker = 0, .speed = 0.25}};
  cluster.events.push_back({.at = 30, .kind = EventKind::kLatency, .worker = 1, .latency = 1});
  const auto quotas = [&](Seconds now) { return quotas_at(cluster, now, 2); };
  using Quotas = std::vector<double>;
  EXPECT_EQ(quotas(0), (Quotas{0.5, 0.5, 0.25}));  // later worker 2 will need a whole core
  EXPECT_EQ(quotas(10), (Quotas{0.5, 0.5, 1}));
  EXPECT_EQ(quotas(25), (Quotas{0.125, 0.5, 1}));
  EXPECT_EQ(quotas(35), quotas(25)) << "a link is not a speed";
}

}  // namespace
}  // namespace motley
