#include "runtime/coordinator/deadlock_watch.h"

#include <gtest/gtest.h>

#include "tests/simulated_job.h"

namespace motley {
namespace {

constexpr Match kSomething{method_channel(0), 0};

// Two workers and the coordinator.
class DeadlockWatchTest : public testing::Test {
 protected:
  DeadlockWatchTest() { watch_.begin_term({0, 1}); }

  void hear(Rank rank, std::uint64_t sent, std::uint64_t arrived, Seconds now) {
    EXPECT_TRUE(watch_.hear(rank, WaitInfo{{sent, arrived}, kSomething}, now));
  }
  // All wait from `begin` to `end`; `missing` messages are under way.
  void all_wait(Seconds begin, Seconds end, std::uint64_t missing = 0) {
    for (Seconds now = begin; now <= end; now += 0.125) {
      hear(0, 7, 3 - missing, now);
      hear(1, 1, 4, now);
      hear(kCoordinator, 2, 3, now);
    }
  }

  DeadlockWatch watch_;
};

TEST_F(DeadlockWatchTest, AllWaitAndNothingIsUnderWay) {
  all_wait(10, 11.875);
  EXPECT_FALSE(watch_.is_stuck(11.875)) << "too early to say";
  all_wait(12, 12);
  EXPECT_TRUE(watch_.is_stuck(12));
  EXPECT_EQ(
      watch_.report(simulated_job("partial_reduce", {1, 1}, 40, 25), Roster(2, 0), 12),
      "the method \"partial_reduce\" cannot continue: deadlock at 12 s: its service waits for "
      "channel 16 from worker 0; worker 0 waits for channel 16 from worker 0; worker 1 waits "
      "for channel 16 from worker 0; 0 of 2 processes are done");
}

TEST_F(DeadlockWatchTest, AMessageUnderWayMayWakeSomebody) {
  all_wait(0, 100, 1);
  EXPECT_FALSE(watch_.is_stuck(100));
}

TEST_F(DeadlockWatchTest, AProcessThatDoesNotWaitMaySendSomething) {
  for (Seconds now = 0; now < 100; ++now) {
    hear(0, 1, 0, now);
    hear(kCoordinator, 0, 1, now);
    ASSERT_FALSE(watch_.is_stuck(now)) << "worker 1 computes";
  }
}

TEST_F(DeadlockWatchTest, AProcessThatHasStoppedWaitingMaySendSomething) {
  all_wait(0, 0.5);
  for (Seconds now = 0.625; now < 100; now += 0.125) {
    hear(0, 7, 3, now);
    hear(kCoordinator, 2, 3, now);
    ASSERT_FALSE(watch_.is_stuck(now)) << now;
  }
  all_wait(100, 101.5);
  EXPECT_FALSE(watch_.is_stuck(101.5)) << "worker 1 may have worked meanwhile";
  all_wait(101.625, 102);
  EXPECT_TRUE(watch_.is_stuck(102));
}

TEST_F(DeadlockWatchTest, WhoIsNotInTheTermIsNotHeard) {
  all_wait(0, 4);
  watch_.begin_term({0, 1});
  hear(7, 1, 1, 4);
  EXPECT_FALSE(watch_.is_stuck(4)) << "nobody of this term has said anything";
}

// Workers that talk to each other wait most of the time, and at some moments all reports add up.
TEST_F(DeadlockWatchTest, CountsThatChangeAreNotStill) {
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const Seconds now = static_cast<double>(i) * 0.1;
    hear(0, i / 10, i / 10, now);
    hear(1, i / 10, i / 10, now);
    hear(kCoordinator, 0, 0, now);
    ASSERT_FALSE(watch_.is_stuck(now));
  }
}

}  // namespace
}  // namespace motley
