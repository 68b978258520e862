// Terms in virtual time. tests/node_restart_conformance.cc tests what all kinds of Node share.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/cluster.h"

namespace motley::cluster_term_test {
namespace {

constexpr Channel kChannel = Channel::kMethod;
constexpr Seconds kLatency = 0.5;

ClusterSpec workers_of(int workers) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.latency = kLatency;
  return spec;
}

TEST(SimClusterTerm, TheNextBeginsAtTheMomentWhenTheLastEnds) {
  SimCluster cluster(workers_of(2));
  std::vector<Seconds> began;
  cluster.start(0, [&](Node& node) {
    began.push_back(node.now());
    node.spawn("sleeper", [](Node& own) { own.sleep(1e6); });
    node.receive({kChannel});
  });
  cluster.next_term(0, [&](Node& node) { began.push_back(node.now()); });
  cluster.start(1, [&](Node& node) {
    node.sleep(3);
    cluster.end_term(0, "over");
    node.sleep(4);
  });
  cluster.run();
  EXPECT_EQ(began, (std::vector<Seconds>{0, 3}));
  EXPECT_EQ(cluster.now(), 7) << "the end of the term did not wait for the sleep";
}

TEST(SimClusterTerm, ARunMayFollowARunOnTheSameClock) {
  SimCluster cluster(workers_of(2));
  const auto exchange = [](Node& node) {
    node.send(1 - node.rank(), kChannel, {});
    node.receive({kChannel, 1 - node.rank()});
  };
  for (int i = 1; i <= 3; ++i) {
    for (Rank rank : {0, 1}) {
      cluster.next_term(rank, exchange);
    }
    cluster.run();
    EXPECT_EQ(cluster.now(), i * kLatency);
  }
}

TEST(SimClusterTerm, MessagesInFlightArriveInTheNext) {
  SimCluster cluster(workers_of(2));
  cluster.start(0, [](Node& node) { node.send(1, kChannel, {.tag = 7}); });
  cluster.start(1, [](Node& node) { node.receive({kChannel, 0}); });
  cluster.next_term(1, [](Node& node) {
    EXPECT_EQ(node.now(), 0.25);
    EXPECT_EQ(node.receive({kChannel, 0}).header.tag, 7);
    EXPECT_EQ(node.now(), kLatency);
  });
  cluster.start(kCoordinator, [&](Node& node) {
    node.sleep(0.25);
    cluster.end_term(1, "over");
  });
  cluster.run();
}

TEST(SimClusterTerm, EndingOneThatIsIdleDoesNothing) {
  SimCluster cluster(workers_of(1));
  cluster.end_term(0, "over");
  bool ran = false;
  cluster.next_term(0, [&](Node& node) {
    node.sleep(1);
    ran = true;
  });
  cluster.run();
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace motley::cluster_term_test
