// Ends that are not happy: exceptions, a run that is stopped, peers that are lost.
#include <atomic>
#include <stdexcept>
#include <string>

#include "node_conformance.h"
#include "node_conformance_tools.h"

namespace motley {
namespace {

using namespace conformance;

TEST_P(NodeConformance, AnExceptionInABodyStopsTheRunWithItsReason) {
  std::atomic<int> unwound{0};
  const Body waiting = [&](Node& node) {
    try {
      node.receive({kSilent});
    } catch (const Interrupted& e) {
      EXPECT_NE(std::string(e.what()).find("out of samples"), std::string::npos) << e.what();
      ++unwound;
      throw;
    }
  };
  const std::string reason =
      reason_of_run({[](Node&) { throw std::runtime_error("out of samples"); }, waiting, waiting});
  EXPECT_NE(reason.find("out of samples"), std::string::npos) << reason;
  EXPECT_EQ(unwound, 2);
}

TEST_P(NodeConformance, AnExceptionInASpawnedActivityStopsTheRunToo) {
  const std::string reason =
      reason_of_run({[](Node& node) {
                       node.spawn("bad", [](Node&) { throw std::runtime_error("spawned badly"); });
                       node.receive({kSilent});
                     },
                     [](Node& node) { node.receive({kSilent}); }});
  EXPECT_NE(reason.find("spawned badly"), std::string::npos) << reason;
}

TEST_P(NodeConformance, StoppingWakesBlockedActivities) {
  std::atomic<int> unwound{0};
  const auto blocked_in = [&](std::function<void(Node&)> call) {
    return [&unwound, call](Node& node) {
      node.send(0, kSignal, {});
      EXPECT_EQ(interrupted_by([&] { call(node); }), kAnyRank);
      EXPECT_EQ(interrupted_by([&] { node.receive({kSilent}); }), kAnyRank) << "and again";
      ++unwound;
    };
  };
  run({[&](Node& node) {
         for (int i = 0; i < 6; ++i) {
           node.receive({kSignal});
         }
         harness().stop("enough");
       },
       blocked_in([](Node& node) {
         node.receive({kSilent, 0});
       }),
       blocked_in([](Node& node) { node.receive({kSilent}); }),
       blocked_in([](Node& node) { node.receive_until({kSilent}, node.now() + 3600); }),
       blocked_in([](Node& node) { node.sleep(3600); }), blocked_in([&](Node& node) {
         node.spawn("child", [&](Node& child) {
           child.send(0, kSignal, {});
           EXPECT_EQ(interrupted_by([&] { child.receive({kSilent}); }), kAnyRank);
           ++unwound;
         });
         node.receive({kSilent});
       })});
  EXPECT_EQ(unwound, 6);
}

TEST_P(NodeConformance, AReceiveFromALostPeerThrowsAfterWhatHadArrived) {
  run({[&](Node& node) {
         node.receive({kSignal, 1});  // sent after the three
         harness().kill(1);
         await_loss(node, 1);
         for (int i = 0; i < 3; ++i) {
           EXPECT_EQ(node.receive({kData, 1}).header.tag, i);
         }
         EXPECT_EQ(interrupted_by([&] { node.receive({kData, 1}); }), 1);
         EXPECT_EQ(interrupted_by([&] { node.receive_until({kData, 1}, node.now() + 3600); }), 1);
       },
       [](Node& node) {
         for (int i = 0; i < 3; ++i) {
           node.send(0, kData, {.tag = i});
         }
         node.send(0, kSignal, {});
         wait_to_be_killed(node);
       }});
}

TEST_P(NodeConformance, AReceiveFromAnyThrowsUntilTheLostPeerIsForgotten) {
  run({[&](Node& node) {
         node.receive({kSignal, 1});
         harness().kill(1);
         EXPECT_EQ(interrupted_by([&] { node.receive({kData}); }), 1);
         EXPECT_EQ(interrupted_by([&] { node.receive({kData}); }), 1);
         node.forget(1);
         EXPECT_FALSE(node.receive_until({kData}, node.now()));
         node.send(2, kSignal, {});
         EXPECT_EQ(node.receive({kData}).from, 2);
         EXPECT_EQ(interrupted_by([&] { node.receive({kData, 1}); }), 1) << "it is still lost";
       },
       [](Node& node) {
         node.send(0, kSignal, {});
         wait_to_be_killed(node);
       },
       [](Node& node) {
         node.receive({kSignal, 0});
         node.send(0, kData, {});
       }});
}

TEST_P(NodeConformance, TheOthersGoOnAfterALoss) {
  run({[&](Node& node) {
         node.receive({kSignal, 1});
         harness().kill(1);
         await_loss(node, 1);
         for (int i = 0; i < 100; ++i) {
           node.send(2, kData, {.tag = i});
           EXPECT_EQ(node.receive({kData, 2}).header.tag, i);
         }
       },
       [](Node& node) {
         node.send(0, kSignal, {});
         wait_to_be_killed(node);
       },
       [](Node& node) {
         for (int i = 0; i < 100; ++i) {
           EXPECT_EQ(node.receive({kData, 0}).header.tag, i);
           node.send(0, kData, {.tag = i});
         }
         await_loss(node, 1);
       }});
}

TEST_P(NodeConformance, ALossEndsAReceiveThatIsUnderWay) {
  run({[&](Node& node) {
         node.receive({kSignal, 1});
         node.receive({kSignal, 2});
         harness().kill(1);
         await_loss(node, 1);
       },
       [](Node& node) {
         node.send(0, kSignal, {});
         wait_to_be_killed(node);
       },
       [](Node& node) {
         node.send(0, kSignal, {});
         EXPECT_EQ(interrupted_by([&] { node.receive({kSilent}); }), 1);
       }});
}

TEST_P(NodeConformance, AMessageToALostPeerIsSilentlyDropped) {
  run({[&](Node& node) {
         node.receive({kSignal, 1});
         harness().kill(1);
         const Payload large = Payload::copy_of(pattern(1 << 20, 3));
         for (int i = 0; i < 10; ++i) {
           node.send(1, kData, {}, large);  // may not be known to be lost yet
         }
         await_loss(node, 1);
         for (int i = 0; i < 10; ++i) {
           node.send(1, kData, {}, large);
         }
       },
       [](Node& node) {
         node.send(0, kSignal, {});
         wait_to_be_killed(node);
       }});
}

}  // namespace
}  // namespace motley
