#include "sim/cluster.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace motley::cluster_test {
namespace {

constexpr Channel kChannel = Channel::kMethod;
constexpr Channel kOther{static_cast<std::uint32_t>(Channel::kMethod) + 1};

ClusterSpec uniform_cluster(int workers, Seconds latency = 0.5, double bandwidth = 1000) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.latency = latency;
  spec.bandwidth.assign(static_cast<std::size_t>(workers), bandwidth);
  return spec;
}

// A payload that, with its frame, occupies a link like `bytes` bytes.
Payload filling(std::size_t bytes) { return Payload::phantom(bytes - kFrameBytes); }

void start_all(SimCluster& cluster, int workers, const std::function<void(Node&)>& body) {
  for (Rank rank = 0; rank < workers; ++rank) {
    cluster.start(rank, body);
  }
}

TEST(SimCluster, BusyAndSleepLastExactlyAsLongAsTheySay) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(0, [](Node& node) {
    EXPECT_EQ(node.now(), 0);
    Seconds began = -1;
    node.busy(2.5, [&] { began = node.now(); });
    EXPECT_EQ(began, 0) << "the body runs at the start of the interval";
    EXPECT_EQ(node.now(), 2.5);
    node.sleep(0.25);
    EXPECT_EQ(node.now(), 2.75);
    node.sleep(-1);
    EXPECT_EQ(node.now(), 2.75);
  });
  cluster.run();
  EXPECT_EQ(cluster.now(), 2.75);
}

TEST(SimCluster, ProcessingTakesItsBytesByTheBandwidthOfMemory) {
  ClusterSpec spec = uniform_cluster(1);
  spec.memory_bandwidth = 4e9;
  SimCluster cluster(spec, 1);
  for (const Rank rank : {kCoordinator, 0, 1}) {  // a coordinator, a worker, a server
    cluster.start(rank, [](Node& node) {
      Seconds began = -1;
      node.process(2'000'000'000, [&] { began = node.now(); });
      EXPECT_EQ(began, 0);
      EXPECT_EQ(node.now(), 0.5);
    });
  }
  cluster.run();
}

// Two activities of a rank, as two threads of a machine.
TEST(SimCluster, OneActivityProcessesWhileAnotherComputes) {
  ClusterSpec spec = uniform_cluster(1);
  spec.memory_bandwidth = 1e9;
  SimCluster cluster(spec);
  cluster.start(0, [](Node& node) {
    node.spawn("beside", [](Node& own) {
      own.process(2'000'000'000, [] {});
      EXPECT_EQ(own.now(), 2);
    });
    node.busy(3, [] {});
    EXPECT_EQ(node.now(), 3);
  });
  cluster.run();
}

TEST(SimCluster, ProcessingLessThanANanosecondIsNoEvent) {
  for (const double bandwidth : {1e10, std::numeric_limits<double>::infinity()}) {
    ClusterSpec spec = uniform_cluster(1);
    spec.memory_bandwidth = bandwidth;
    SimCluster cluster(spec);
    int runs = 0;
    cluster.start(0, [&](Node& node) {
      node.process(0, [&] { ++runs; });
      node.process(9, [&] { ++runs; });
      EXPECT_EQ(node.now(), 0);
    });
    cluster.run();
    EXPECT_EQ(runs, 2);
    EXPECT_EQ(cluster.events(), 0U);
  }
}

TEST(SimCluster, BusyForNothingTakesNoTurn) {
  SimCluster cluster(uniform_cluster(2));
  std::vector<int> order;
  cluster.start(0, [&](Node& node) {
    node.sleep(1);
    for (int i = 0; i < 3; ++i) {
      node.busy(0, [&, i] { order.push_back(i); });
    }
  });
  cluster.start(1, [&](Node& node) {
    node.sleep(1);
    order.push_back(10);
  });
  cluster.run();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 10}));
  EXPECT_EQ(cluster.events(), 2U);
}

TEST(SimCluster, AMessageArrivesWhenTheNetworkSays) {
  SimCluster cluster(uniform_cluster(2));
  cluster.start(0, [](Node& node) {
    node.sleep(1);
    node.send(1, kChannel, {.tag = 7}, filling(2000));
  });
  cluster.start(1, [](Node& node) {
    const Message message = node.receive({kChannel});
    EXPECT_EQ(message.from, 0);
    EXPECT_EQ(message.header.tag, 7);
    EXPECT_DOUBLE_EQ(node.now(), 1 + 0.5 + 2);
  });
  cluster.run();
  EXPECT_EQ(cluster.bytes_sent(0), 2000U);
  EXPECT_EQ(cluster.bytes_sent(1), 0U);
}

// Rank 0's two messages have half of its uplink each. From 1 s on the second one has half of rank
// 2's downlink, too.
TEST(SimCluster, MessagesUnderWayShareLinks) {
  SimCluster cluster(uniform_cluster(4));
  cluster.start(0, [](Node& node) {
    node.send(3, kChannel, {}, filling(4000));
    node.send(2, kChannel, {}, filling(1000));
  });
  cluster.start(1, [](Node& node) {
    node.sleep(1);
    node.send(2, kChannel, {}, filling(1000));
  });
  cluster.start(2, [](Node& node) {
    EXPECT_EQ(node.receive({kChannel}).from, 0);
    EXPECT_DOUBLE_EQ(node.now(), 2 + 0.5);
    EXPECT_EQ(node.receive({kChannel}).from, 1);
    EXPECT_DOUBLE_EQ(node.now(), 2.5 + 0.5);
  });
  cluster.run();
}

// The worker's link changes from 1000 to 4000 bytes per second, then its latency falls.
TEST(SimCluster, EventsChangeLinks) {
  ClusterSpec spec = uniform_cluster(2);
  spec.bandwidth[1] = 8000;
  spec.events = {{.at = 1, .kind = EventKind::kBandwidth, .worker = 0, .bandwidth = 4000},
                 {.at = 10, .kind = EventKind::kLatency, .worker = 0, .latency = 2},
                 {.at = 10, .kind = EventKind::kSpeed, .worker = 0, .speed = 2}};
  SimCluster cluster(spec);
  cluster.start(0, [](Node& node) {
    node.send(1, kChannel, {}, filling(5000));
    node.sleep(20);
    node.send(1, kChannel, {}, filling(4000));
  });
  cluster.start(1, [](Node& node) {
    node.receive({kChannel});
    EXPECT_DOUBLE_EQ(node.now(), 2 + 0.5);
    node.receive({kChannel});
    EXPECT_DOUBLE_EQ(node.now(), 21 + 2);
  });
  cluster.run();
}

TEST(SimCluster, AMessageToOneselfIsThereAtOnceAndFree) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(0, [](Node& node) {
    node.spawn("receiver", [](Node& self) {
      EXPECT_EQ(self.receive({kChannel, 0}).header.tag, 1);
      EXPECT_EQ(self.now(), 3);
    });
    node.sleep(3);
    node.send(0, kChannel, {.tag = 1}, filling(5000));
    node.send(0, kOther, {.tag = 2});
    EXPECT_EQ(node.receive({kOther, 0}).header.tag, 2);
    EXPECT_EQ(node.now(), 3);
  });
  cluster.run();
  EXPECT_EQ(cluster.bytes_sent(0), 0U);
}

TEST(SimCluster, TheCoordinatorTalksToWorkers) {
  SimCluster cluster(uniform_cluster(3));
  cluster.start(kCoordinator, [](Node& node) {
    EXPECT_EQ(node.rank(), kCoordinator);
    EXPECT_EQ(node.size(), 3);
    for (Rank rank = 0; rank < node.size(); ++rank) {
      node.send(rank, kChannel, {.tag = rank});
    }
    for (int i = 0; i < node.size(); ++i) {
      node.receive({kOther});
    }
  });
  start_all(cluster, 3, [](Node& node) {
    EXPECT_EQ(node.receive({kChannel, kCoordinator}).header.tag, node.rank());
    node.send(kCoordinator, kOther, {});
  });
  cluster.run();
  EXPECT_EQ(cluster.bytes_sent(kCoordinator), 3 * kFrameBytes);
}

TEST(SimCluster, ADeadlineEndsAReceiveOnTime) {
  SimCluster cluster(uniform_cluster(2));
  cluster.start(0, [](Node& node) {
    EXPECT_FALSE(node.receive_until({kChannel}, 2));
    EXPECT_EQ(node.now(), 2);
    EXPECT_FALSE(node.receive_until({kChannel}, 1));
    EXPECT_EQ(node.now(), 2);
    EXPECT_TRUE(node.receive_until({kChannel}, 9));
    EXPECT_DOUBLE_EQ(node.now(), 5.5 + 0.056);
  });
  cluster.start(1, [](Node& node) {
    node.sleep(5);
    node.send(0, kChannel, {});
  });
  cluster.run();
  EXPECT_DOUBLE_EQ(cluster.now(), 5.556) << "the deadline at 9 s was not needed";
}

TEST(SimCluster, ActivitiesOfARankGetWhatTheyWaitFor) {
  SimCluster cluster(uniform_cluster(3));
  std::vector<std::string> got;
  cluster.start(0, [&](Node& node) {
    node.spawn("sleeper", [&](Node& self) {
      self.sleep(100);
      EXPECT_EQ(self.now(), 100);
    });
    node.spawn("from 2", [&](Node& self) {
      self.receive({kChannel, 2});
      got.push_back("from 2");
    });
    node.spawn("other", [&](Node& self) {
      self.receive({kOther});
      got.push_back("other");
    });
    node.receive({kChannel, 1});
    got.push_back("from 1");
  });
  cluster.start(1, [](Node& node) {
    node.send(0, kOther, {});
    node.sleep(20);
    node.send(0, kChannel, {});
  });
  cluster.start(2, [](Node& node) {
    node.sleep(10);
    node.send(0, kChannel, {});
  });
  cluster.run();
  EXPECT_EQ(got, (std::vector<std::string>{"other", "from 2", "from 1"}));
}

TEST(SimCluster, TwoReceiversOfOneMatchGetOneMessageEach) {
  SimCluster cluster(uniform_cluster(2));
  std::vector<std::pair<std::string, std::int64_t>> got;
  cluster.start(0, [&](Node& node) {
    node.spawn("second", [&](Node& self) {
      got.emplace_back("second", self.receive({kChannel}).header.tag);
    });
    got.emplace_back("first", node.receive({kChannel}).header.tag);
  });
  cluster.start(1, [](Node& node) {
    node.send(0, kChannel, {.tag = 1});
    node.send(0, kChannel, {.tag = 2});
  });
  cluster.run();
  EXPECT_EQ(got, (std::vector<std::pair<std::string, std::int64_t>>{{"first", 1}, {"second", 2}}));
}

TEST(SimCluster, ABorrowedPayloadIsCopiedAndAnOwnedOneIsNot) {
  SimCluster cluster(uniform_cluster(2));
  const std::vector<float> numbers{1, 2, 3};
  const Payload owned = Payload::copy_of(numbers);
  cluster.start(0, [&](Node& node) {
    std::vector<float> mine{4, 5, 6};
    node.send(1, kChannel, {}, Payload::borrow(mine));
    mine.assign(3, 0);
    node.send(1, kChannel, {}, owned);
  });
  cluster.start(1, [&](Node& node) {
    EXPECT_EQ(node.receive({kChannel}).payload.floats()[2], 6);
    EXPECT_EQ(node.receive({kChannel}).payload.bytes().data(), owned.bytes().data());
  });
  cluster.run();
}

TEST(SimCluster, BodiesStartedWhileItRunsJoinIt) {
  SimCluster cluster(uniform_cluster(2));
  Seconds began = 0;
  cluster.start(0, [&](Node& node) {
    node.sleep(4);
    cluster.start(1, [&](Node& late) { began = late.now(); });
  });
  cluster.run();
  EXPECT_EQ(began, 4);
}

TEST(SimCluster, MayRunAgain) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(0, [](Node& node) { node.sleep(1); });
  cluster.run();
  cluster.start(0, [](Node& node) { node.sleep(1); });
  cluster.run();
  EXPECT_EQ(cluster.now(), 2);
}

TEST(SimCluster, IsStoppedFromOutsideThroughThePollHook) {
  SimCluster cluster(uniform_cluster(1));
  int asked = 0;
  cluster.poll([&] { return ++asked == 100; });
  cluster.start(0, [](Node& node) {
    for (;;) {
      node.sleep(1);
    }
  });
  try {
    cluster.run();
    FAIL() << "the run should have thrown";
  } catch (const Interrupted& e) {
    EXPECT_STREQ(e.what(), "interrupted");
    EXPECT_EQ(e.peer(), kAnyRank);
  }
  EXPECT_EQ(asked, 100);
}

// Every worker sends to its right neighbour and receives from its left one, `rounds` times.
void pass_around(Node& node, int rounds, std::size_t bytes) {
  const Rank right = (node.rank() + 1) % node.size();
  const Rank left = (node.rank() + node.size() - 1) % node.size();
  for (int i = 0; i < rounds; ++i) {
    node.send(right, Channel::kMethod, {}, Payload::phantom(bytes));
    node.receive({Channel::kMethod, left});
  }
}

// The traffic of a ring all-reduce with chunks of `bytes`.
void all_reduce_in_a_ring(Node& node, std::size_t bytes) {
  pass_around(node, 2 * (node.size() - 1), bytes);
}

TEST(SimCluster, ARingAllReduceTakesAsLongAsItsFormulaSays) {
  constexpr int kSteps = 3;
  constexpr double kParameters = 25e6;
  constexpr double kBatch = 256;
  constexpr Seconds kUnit = 5e-4;
  constexpr Seconds kLatency = 50e-6;
  constexpr double kBandwidth = 1.25e9;
  for (const int n : {2, 4, 16, 64, 256}) {
    SimCluster cluster(uniform_cluster(n, kLatency, kBandwidth));
    const double chunk_bytes = 4 * kParameters / n;
    start_all(cluster, n, [&](Node& node) {
      for (int step = 0; step < kSteps; ++step) {
        node.busy(kBatch / n * kUnit, [] {});
        all_reduce_in_a_ring(node, static_cast<std::size_t>(chunk_bytes));
      }
    });
    cluster.run();
    const Seconds expected =
        kSteps * (kBatch / n * kUnit + 2 * (n - 1) * (kLatency + chunk_bytes / kBandwidth));
    EXPECT_NEAR(cluster.now() / expected, 1, 0.001) << n << " workers";
  }
}

TEST(SimCluster, HoldsThousandsOfFibers) {
#if defined(MOTLEY_SANITIZED)
  constexpr int kWorkers = 256;  // ThreadSanitizer needs almost a megabyte for each
#else
  constexpr int kWorkers = 4096;
#endif
  SimCluster cluster(uniform_cluster(kWorkers));
  int ended = 0;
  start_all(cluster, kWorkers, [&](Node& node) {
    pass_around(node, 20, 1'000 - kFrameBytes);
    ++ended;
  });
  cluster.run();
  EXPECT_EQ(ended, kWorkers);
  EXPECT_DOUBLE_EQ(cluster.now(), 20 * 1.5);
}

TEST(SimCluster, TwoLiveInOneThread) {
  SimCluster outer(uniform_cluster(2));
  Seconds inner_end = 0;
  start_all(outer, 2, [&](Node& node) {
    node.sleep(1);
    node.busy(1, [&] {
      SimCluster inner(uniform_cluster(3));
      start_all(inner, 3, [](Node& one) { all_reduce_in_a_ring(one, 1'000 - kFrameBytes); });
      inner.run();
      inner_end = inner.now();
    });
    all_reduce_in_a_ring(node, 1'000 - kFrameBytes);
  });
  outer.run();
  EXPECT_DOUBLE_EQ(inner_end, 4 * 1.5);
  EXPECT_DOUBLE_EQ(outer.now(), 2 + 2 * 1.5);
}

TEST(SimCluster, TwoRunOnTwoThreadsAtOnce) {
  const auto simulate = [](Seconds* end) {
    SimCluster cluster(uniform_cluster(8));
    start_all(cluster, 8, [](Node& node) {
      for (int i = 0; i < 50; ++i) {
        node.busy(0.1, [] {});
        all_reduce_in_a_ring(node, 1'000 - kFrameBytes);
      }
    });
    cluster.run();
    *end = cluster.now();
  };
  Seconds first = 0;
  Seconds second = 0;
  std::thread one(simulate, &first);
  std::thread two(simulate, &second);
  one.join();
  two.join();
  EXPECT_EQ(first, second);
  EXPECT_NEAR(first, 50 * (0.1 + 14 * 1.5), 1e-6);
}

}  // namespace
}  // namespace motley::cluster_test
