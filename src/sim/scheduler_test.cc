#include "sim/scheduler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "motley/node/node.h"

namespace motley::scheduler_test {
namespace {

class SchedulerTest : public testing::Test, protected Scheduler::Owner {
 protected:
  void on_event(std::uint32_t what, std::uint32_t index) override {
    trace_.push_back(fmt::format("{}: event {}.{}", scheduler_.now(), what, index));
  }
  void on_end(ActivityId, std::exception_ptr error) override { errors_ += error ? 1 : 0; }

  void note(const std::string& what) {
    trace_.push_back(fmt::format("{}: {}", scheduler_.now(), what));
  }
  void run() {
    while (scheduler_.step()) {
    }
  }

  Scheduler scheduler_{*this};
  std::vector<std::string> trace_;
  int errors_ = 0;
};

using Trace = std::vector<std::string>;

TEST_F(SchedulerTest, EventsOfOneMomentHappenInTheOrderTheyWereScheduled) {
  scheduler_.at(2, 0, 1);
  scheduler_.at(1, 0, 2);
  scheduler_.start([&] {
    scheduler_.at(1, 0, 3);
    scheduler_.wait_until(1);
    note("woke");
  });
  scheduler_.start([&] {
    scheduler_.wait_until(1);
    note("woke too");
    scheduler_.at(1, 0, 4);
  });
  run();
  EXPECT_EQ(trace_, (Trace{"1: event 0.2", "1: event 0.3", "1: woke", "1: woke too", "1: event 0.4",
                           "2: event 0.1"}));
  EXPECT_EQ(scheduler_.events(), 6U);
  EXPECT_EQ(scheduler_.live(), 0U);
}

TEST_F(SchedulerTest, WakingEndsAWaitBeforeItsDeadline) {
  const ActivityId sleeper = scheduler_.start([&] {
    scheduler_.wait_until(100);
    note("woke");
  });
  scheduler_.start([&] {
    scheduler_.wait_until(1);
    scheduler_.wake(sleeper);
    scheduler_.wake(sleeper);  // the second call has no effect
    note("waker goes first");
  });
  run();
  EXPECT_EQ(trace_, (Trace{"1: waker goes first", "1: woke"}));
  EXPECT_EQ(scheduler_.now(), 1) << "a stale deadline does not move the clock";
}

TEST_F(SchedulerTest, AStaleDeadlineDoesNotEndALaterWait) {
  const ActivityId sleeper = scheduler_.start([&] {
    scheduler_.wait_until(2);
    scheduler_.wait_until(5);
    note("slept");
  });
  scheduler_.start([&] {
    scheduler_.wait_until(1);
    scheduler_.wake(sleeper);
  });
  run();
  EXPECT_EQ(trace_, (Trace{"5: slept"}));
}

TEST_F(SchedulerTest, StaleDeadlinesDoNotPileUpOrDisturbTheOrder) {
  constexpr int kRounds = 20'000;
  int woken = 0;
  const ActivityId sleeper = scheduler_.start([&] {
    for (; woken < kRounds; ++woken) {
      scheduler_.wait_until(1e9);
    }
  });
  scheduler_.start([&] {
    for (int i = 1; i <= kRounds; ++i) {
      scheduler_.wait_until(i);
      scheduler_.wake(sleeper);
    }
  });
  run();
  EXPECT_EQ(woken, kRounds);
  EXPECT_EQ(scheduler_.now(), kRounds);
  EXPECT_EQ(scheduler_.events(), static_cast<std::uint64_t>(kRounds));
}

TEST_F(SchedulerTest, ABodyOutsideRunsOnTheBigStackAtTheSameMoment) {
  int on_big_stack = 0;
  scheduler_.start([&] {
    scheduler_.wait_until(1);
    scheduler_.run_outside([&] {
      std::array<volatile unsigned char, 512 << 10> room;  // eight times a fiber's stack
      room[0] = 1;
      room[room.size() - 1] = 1;
      on_big_stack = room[0];
      note("outside");
    });
    note("inside");
  });
  scheduler_.start([&] {
    scheduler_.wait_until(1);
    note("next");
  });
  run();
  EXPECT_EQ(on_big_stack, 1);
  EXPECT_EQ(trace_, (Trace{"1: outside", "1: inside", "1: next"}));
  EXPECT_EQ(scheduler_.events(), 2U);
}

TEST_F(SchedulerTest, WhatABodyOutsideThrowsComesOutInside) {
  scheduler_.start([&] {
    try {
      scheduler_.run_outside([] { throw std::invalid_argument("outside"); });
    } catch (const std::invalid_argument& e) {
      note(e.what());
    }
    scheduler_.run_outside([&] { note("again"); });
    throw std::runtime_error("and this one leaves");
  });
  run();
  EXPECT_EQ(trace_, (Trace{"0: outside", "0: again"}));
  EXPECT_EQ(errors_, 1);
}

TEST_F(SchedulerTest, IdsAreUsedAgain) {
  const ActivityId first = scheduler_.start([] {});
  run();
  EXPECT_EQ(scheduler_.start([] {}), first);
  run();
}

TEST_F(SchedulerTest, SaysWhenNothingIsLeftToDo) {
  const ActivityId waiter = scheduler_.start([&] { scheduler_.wait_until(Node::kForever); });
  run();
  EXPECT_EQ(scheduler_.live(), 1U);
  scheduler_.wake(waiter);
  run();
  EXPECT_EQ(scheduler_.live(), 0U);
}

using SchedulerDeathTest = SchedulerTest;

TEST_F(SchedulerDeathTest, WaitingOutsideAnActivityIsABug) {
  EXPECT_DEATH(scheduler_.wait_until(1), "a blocking call");
}

TEST_F(SchedulerDeathTest, WaitingInsideABodyOutsideIsABug) {
  scheduler_.start([&] { scheduler_.run_outside([&] { scheduler_.wait_until(1); }); });
  EXPECT_DEATH(scheduler_.step(), "a blocking call");
}

}  // namespace
}  // namespace motley::scheduler_test
