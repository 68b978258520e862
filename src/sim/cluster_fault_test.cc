// Runs that fail: exceptions, stops, deadlocks, lost ranks.
#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sim/cluster.h"

namespace motley {
namespace {

constexpr Channel kChannel = Channel::kMethod;
constexpr Channel kOther{static_cast<std::uint32_t>(Channel::kMethod) + 1};
constexpr Seconds kLatency = 0.5;

ClusterSpec uniform_cluster(int workers) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.latency = kLatency;
  spec.bandwidth.assign(static_cast<std::size_t>(workers), 1000);
  return spec;
}

Payload filling(std::size_t bytes) { return Payload::phantom(bytes - kFrameBytes); }

// Counts how often a scope is left, normally or by an exception.
struct Leaving {
  explicit Leaving(int& count) : count_(count) {}
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;
  ~Leaving() { ++count_; }
  int& count_;
};

template <class Exception>
std::string reason_of(SimCluster& cluster) {
  try {
    cluster.run();
  } catch (const Exception& e) {
    return e.what();
  }
  return "(none)";
}

TEST(SimClusterFault, AnExceptionInABodyStopsTheOthersAndIsThrownByRun) {
  SimCluster cluster(uniform_cluster(3));
  int unwound = 0;
  std::vector<std::string> reasons;
  for (Rank rank : {0, 1}) {
    cluster.start(rank, [&](Node& node) {
      Leaving leaving(unwound);
      try {
        node.receive({kChannel});
      } catch (const Interrupted& e) {
        reasons.push_back(e.what());
        EXPECT_EQ(e.peer(), kAnyRank);
        throw;
      }
    });
  }
  cluster.start(2, [&](Node& node) {
    Leaving leaving(unwound);
    node.sleep(1);
    throw std::out_of_range("no such sample");
  });
  EXPECT_EQ(reason_of<std::out_of_range>(cluster), "no such sample");
  EXPECT_EQ(unwound, 3);
  EXPECT_EQ(reasons, (std::vector<std::string>{"no such sample", "no such sample"}));
}

TEST(SimClusterFault, AnExceptionInASpawnedActivityCountsToo) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(0, [&](Node& node) {
    node.spawn("bad", [](Node&) { throw std::runtime_error("spawned badly"); });
    node.sleep(100);
  });
  EXPECT_EQ(reason_of<std::runtime_error>(cluster), "spawned badly");
  EXPECT_EQ(cluster.now(), 0);
}

TEST(SimClusterFault, AnExceptionThatIsNotAStdExceptionIsKeptToo) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(0, [](Node&) { throw 42; });
  EXPECT_THROW(cluster.run(), int);
}

TEST(SimClusterFault, WhatABusyBodyThrowsComesOutOfBusy) {
  SimCluster cluster(uniform_cluster(1));
  int caught = 0;
  cluster.start(0, [&](Node& node) {
    try {
      node.busy(1, [] { throw std::domain_error("torch"); });
    } catch (const std::domain_error&) {
      ++caught;
    }
    node.busy(1, [] { throw std::domain_error("torch again"); });
  });
  EXPECT_EQ(reason_of<std::domain_error>(cluster), "torch again");
  EXPECT_EQ(caught, 1);
}

// node.h forbids this because of other schedulers; this one supports it.
TEST(SimClusterFault, ANodeCallInsideACatchBlockDoesNoHarm) {
  SimCluster cluster(uniform_cluster(8));
  std::vector<std::string> rethrown;
  for (Rank rank = 0; rank < 8; ++rank) {
    cluster.start(rank, [&](Node& node) {
      try {
        try {
          throw std::runtime_error(std::to_string(node.rank()));
        } catch (const std::runtime_error&) {
          node.sleep(8 - node.rank());
          throw;
        }
      } catch (const std::runtime_error& e) {
        node.sleep(1);
        rethrown.push_back(e.what());
      }
    });
  }
  cluster.run();
  EXPECT_EQ(rethrown, (std::vector<std::string>{"7", "6", "5", "4", "3", "2", "1", "0"}));
}

TEST(SimClusterFault, StoppingUnwindsWhateverAnActivityDoes) {
  SimCluster cluster(uniform_cluster(6));
  int unwound = 0;
  const auto start = [&](Rank rank, const std::function<void(Node&)>& what) {
    cluster.start(rank, [&unwound, what](Node& node) {
      Leaving leaving(unwound);
      what(node);
      ADD_FAILURE() << "rank " << node.rank() << " went on";
    });
  };
  start(0, [](Node& node) { node.sleep(100); });
  start(1, [](Node& node) { node.busy(100, [] {}); });
  start(2, [](Node& node) { node.receive({kChannel, 0}); });
  start(3, [](Node& node) { node.receive_until({kChannel}, 100); });
  start(4, [&](Node& node) {
    node.spawn("child", [&](Node& child) {
      Leaving leaving(unwound);
      child.receive({kOther});
    });
    node.receive({kChannel});
  });
  start(5, [&](Node& node) {
    node.sleep(1);
    cluster.stop("enough");
    node.send(0, kChannel, {});
  });
  EXPECT_EQ(reason_of<Interrupted>(cluster), "enough");
  EXPECT_EQ(unwound, 7);
  EXPECT_EQ(cluster.now(), 1);
}

TEST(SimClusterFault, AStopThatEveryBodyHandlesIsNotAnError) {
  SimCluster cluster(uniform_cluster(2));
  cluster.start(0, [&](Node& node) {
    EXPECT_THROW(node.receive({kChannel}), Interrupted);
    EXPECT_THROW(node.send(1, kChannel, {}), Interrupted);
    EXPECT_THROW(node.sleep(1), Interrupted);
    EXPECT_THROW(node.busy(1, [] {}), Interrupted);
    EXPECT_THROW(node.spawn("late", [](Node&) {}), Interrupted);
  });
  cluster.start(1, [&](Node& node) {
    node.sleep(1);
    cluster.stop("enough");
  });
  EXPECT_NO_THROW(cluster.run());
}

TEST(SimClusterFault, ADeadlockNamesWhoWaitsForWhat) {
  SimCluster cluster(uniform_cluster(2));
  cluster.start(kCoordinator, [](Node& node) { node.receive({Channel::kControl}); });
  cluster.start(0, [](Node& node) {
    node.spawn("beacon", [](Node& child) { child.receive({kOther, kCoordinator}); });
    node.sleep(1.5);
    node.receive({kChannel, 1});
  });
  cluster.start(1, [](Node& node) { node.sleep(Node::kForever); });
  EXPECT_EQ(reason_of<Deadlock>(cluster),
            "deadlock at 1.5 s: the coordinator waits for channel 1 from anyone; "
            "rank 0 waits for channel 16 from rank 1; "
            "rank 0 (beacon) waits for channel 17 from the coordinator; rank 1 sleeps forever");
}

TEST(SimClusterFault, ADeadlockOfManyNamesTheFirstEight) {
  SimCluster cluster(uniform_cluster(100));
  int unwound = 0;
  for (Rank rank = 0; rank < 100; ++rank) {
    cluster.start(rank, [&](Node& node) {
      Leaving leaving(unwound);
      node.receive({kChannel});
    });
  }
  const std::string reason = reason_of<Deadlock>(cluster);
  EXPECT_NE(reason.find("rank 7 waits"), std::string::npos) << reason;
  EXPECT_EQ(reason.find("rank 8 waits"), std::string::npos) << reason;
  EXPECT_NE(reason.find("and 92 more"), std::string::npos) << reason;
  EXPECT_EQ(unwound, 100);
}

TEST(SimClusterFault, AClusterThatNeverRanCanBeDestroyed) {
  auto captured = std::make_shared<int>(0);
  {
    SimCluster cluster(uniform_cluster(1));
    cluster.start(0, [captured](Node&) {});
  }
  EXPECT_EQ(captured.use_count(), 1);
}

TEST(SimClusterFault, AFailedRankIsUnwoundAndTheOthersLearnOfItOneLatencyLater) {
  SimCluster cluster(uniform_cluster(3));
  int unwound = 0;
  cluster.start(0, [&](Node& node) {
    node.spawn("child", [&](Node& child) {
      Leaving leaving(unwound);
      child.receive({kOther});
    });
    Leaving leaving(unwound);
    try {
      node.sleep(100);
    } catch (const Interrupted& e) {
      EXPECT_EQ(e.peer(), 0);
      EXPECT_EQ(node.now(), 2);
    }
    EXPECT_THROW(node.send(1, kChannel, {}), Interrupted);
    throw std::runtime_error("exceptions of a dead rank are ignored");
  });
  for (Rank rank : {1, 2}) {
    cluster.start(rank, [&](Node& node) {
      try {
        node.receive({kChannel});
        ADD_FAILURE() << "nobody sent";
      } catch (const Interrupted& e) {
        EXPECT_EQ(e.peer(), 0);
        EXPECT_STREQ(e.what(), "power cut");
      }
      EXPECT_DOUBLE_EQ(node.now(), 2 + kLatency);
      node.forget(0);
      node.send(0, kChannel, {});
      node.send(3 - node.rank(), kChannel, {});
      EXPECT_EQ(node.receive({kChannel}).from, 3 - node.rank());
    });
  }
  cluster.fail(0, 2, "power cut");
  cluster.fail(0, 3, "a second failure is ignored");
  cluster.run();
  EXPECT_EQ(unwound, 2);
}

// Each message takes a second; one of three has left the uplink when the rank fails after 1.25 s.
TEST(SimClusterFault, WhatHasLeftTheUplinkArrivesAndTheRestIsLost) {
  SimCluster cluster(uniform_cluster(2));
  std::vector<std::int64_t> got;
  cluster.start(0, [](Node& node) {
    for (int i = 0; i < 3; ++i) {
      node.send(1, kChannel, {.tag = i}, filling(1000));
    }
    node.sleep(100);
  });
  cluster.start(1, [&](Node& node) {
    try {
      for (;;) {
        got.push_back(node.receive({kChannel, 0}).header.tag);
      }
    } catch (const Interrupted& e) {
      EXPECT_EQ(e.peer(), 0);
    }
  });
  cluster.fail(0, 1.25, "power cut");
  cluster.run();
  EXPECT_EQ(got, std::vector<std::int64_t>{0});
}

// The message leaves at 100 s, through the receiver's slow downlink, and is on its way when the
// sender fails.
TEST(SimClusterFault, TheNewsOfALossComesAfterWhatIsOnTheWire) {
  ClusterSpec spec = uniform_cluster(2);
  spec.bandwidth[1] = 10;
  SimCluster cluster(spec);
  cluster.start(0, [](Node& node) { node.send(1, kChannel, {}, filling(1000)); });
  cluster.start(1, [](Node& node) {
    EXPECT_EQ(node.receive({kChannel, 0}).from, 0);
    EXPECT_DOUBLE_EQ(node.now(), 100 + kLatency);
    EXPECT_THROW(node.receive({kChannel, 0}), Interrupted);
    EXPECT_DOUBLE_EQ(node.now(), 100.25 + kLatency);
  });
  cluster.fail(0, 100.25, "power cut");
  cluster.run();
}

TEST(SimClusterFault, AReceiveFromSomebodyElseIsNotDisturbed) {
  SimCluster cluster(uniform_cluster(3));
  cluster.start(1, [](Node& node) {
    node.sleep(10);
    node.send(2, kChannel, {});
  });
  cluster.start(2, [](Node& node) {
    EXPECT_EQ(node.receive({kChannel, 1}).from, 1);
    EXPECT_THROW(node.receive({kChannel}), Interrupted);
  });
  cluster.fail(0, 1, "power cut");
  cluster.run();
}

TEST(SimClusterFault, AMessageToARankThatJustFailedIsDropped) {
  SimCluster cluster(uniform_cluster(2));
  cluster.start(0, [](Node& node) { node.receive({kChannel}); });
  cluster.start(1, [](Node& node) {
    node.sleep(1.25);
    node.send(0, kChannel, {});  // it is dead, but the others do not know yet
    EXPECT_THROW(node.receive({kChannel, 0}), Interrupted);
    node.send(0, kChannel, {});
  });
  cluster.fail(0, 1, "power cut");
  cluster.run();
  EXPECT_EQ(cluster.bytes_sent(1), kFrameBytes) << "the second message was not sent at all";
}

TEST(SimClusterFault, TheCoordinatorMayFailToo) {
  SimCluster cluster(uniform_cluster(1));
  cluster.start(kCoordinator, [](Node& node) { node.sleep(100); });
  cluster.start(0, [](Node& node) { node.receive({Channel::kControl, kCoordinator}); });
  cluster.fail(kCoordinator, 1, "coordinator gone");
  EXPECT_EQ(reason_of<Interrupted>(cluster), "coordinator gone");
}

}  // namespace
}  // namespace motley
