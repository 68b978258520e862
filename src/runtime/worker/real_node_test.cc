// What only a real Node does: keep a pace, and report when it could not.
#include "runtime/worker/real_node.h"

#include <gtest/gtest.h>

#include <thread>

namespace motley {
namespace {

TEST(RealNode, BusyLastsAsLongAsItsCost) {
  Driver driver;
  RealNode node(driver, 0, 1);
  const Seconds began = node.now();
  node.busy(0.01, [] {});
  EXPECT_GE(node.now() - began, 0.01);
  EXPECT_EQ(node.pace().steps, 1);
}

TEST(RealNode, CountsTheStepsThatMissedTheirPace) {
  Driver driver;
  RealNode node(driver, 0, 1);
  for (int step = 0; step < 3; ++step) {
    node.busy(1e-4, [&] {
      const Seconds until = node.now() + 1e-3;
      while (node.now() < until) {
      }
    });
  }
  node.busy(0, [] {});  // has no pace to keep
  EXPECT_EQ(node.pace().steps, 3);
  EXPECT_EQ(node.pace().missed, 3);
}

// The cost of a step covers what is computed in it, not what is done to numbers on their way.
TEST(RealNode, ProcessingComesOnTopOfTheCostOfAStep) {
  Driver driver;
  RealNode node(driver, 0, 1);
  const Seconds began = node.now();
  node.process(0, [&] {
    while (node.now() < began + 0.005) {
    }
  });
  node.busy(0.01, [] {});
  EXPECT_GE(node.now() - began, 0.015);
}

TEST(RealNode, TheClockCanBeRestarted) {
  Driver driver;
  RealNode node(driver, 0, 1);
  node.sleep(0.01);
  node.restart_clock(Driver::Clock::now());
  EXPECT_LT(node.now(), 0.01);
}

// Waits until the node waits, having received `arrived` messages.
WaitInfo await_waiting(const RealNode& node, std::uint64_t arrived) {
  while (true) {
    const auto waiting = node.waiting();
    if (waiting && waiting->counts.arrived == arrived) {
      return *waiting;
    }
    std::this_thread::yield();
  }
}

TEST(RealNode, SaysWhenAllItsActivitiesWait) {
  Driver driver;
  RealNode node(driver, 0, 2);
  std::thread watcher;
  node.run([&](Node& self) {
    self.spawn("other", [](Node& other) {
      other.receive({method_channel(1)});
      other.receive({method_channel(1)});
    });
    EXPECT_FALSE(node.waiting()) << "the first activity does not wait";
    watcher = std::thread([&] {
      await_waiting(node, 0);
      node.on_message({1, method_channel(1), {}, {}});
      EXPECT_EQ(await_waiting(node, 1).counts.sent, 0U);
      node.on_message({1, method_channel(0), {}, {}});  // the first activity returns
      EXPECT_EQ(await_waiting(node, 2).match.channel, method_channel(1));
      node.on_message({1, method_channel(1), {}, {}});
    });
    self.receive({method_channel(0)});
  });
  watcher.join();
  EXPECT_FALSE(node.waiting());
}

}  // namespace
}  // namespace motley
