#include "runtime/coordinator/stall_watch.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley {
namespace {

constexpr StallLimits kStallLimits{.heartbeat = 5, .step = 0.1};

std::string worker_name(Rank rank) { return fmt::format("worker {}", rank); }

WaitInfo wait_of(Rank from, std::uint64_t arrived = 3) {
  return {{7, arrived}, {method_channel(0), from}};
}

// Workers that report once a second.
class StallWatchTest : public testing::Test {
 protected:
  StallWatchTest() { watch_.begin_term(0); }

  // Until `end`, each waits for the rank at its index; kCoordinator - 10 stands for one that
  // computes.
  static constexpr Rank kComputes = kCoordinator - 10;
  void report(const std::vector<Rank>& waits, Seconds begin, Seconds end) {
    for (Seconds now = begin; now <= end; ++now) {
      for (Rank rank = 0; rank < static_cast<Rank>(waits.size()); ++rank) {
        watch_.on_heard(rank, now);
        if (waits[static_cast<std::size_t>(rank)] != kComputes) {
          watch_.on_waits(rank, wait_of(waits[static_cast<std::size_t>(rank)]), now);
        }
      }
    }
  }
  std::string text(Seconds now) {
    const auto stall = watch_.look(kStallLimits, worker_name, now);
    return stall ? stall->text : "";
  }

  StallWatch watch_{3, 0};
};

TEST_F(StallWatchTest, SaysWhoWaitsForWhom) {
  report({1, 2, kComputes}, 1, 10);
  EXPECT_EQ(text(10), "") << "the first reports were progress";
  report({1, 2, kComputes}, 11, 11);
  EXPECT_EQ(text(11),
            "no progress for 10 s: worker 2 computes, worker 0 waits for worker 1, worker 1 waits "
            "for worker 2");
  EXPECT_FALSE(watch_.look(kStallLimits, worker_name, 11)->pair);
}

TEST_F(StallWatchTest, NamesThePairThatWaitsForEachOther) {
  watch_.on_finished(1);
  report({2, kComputes, 0}, 1, 11);
  EXPECT_EQ(text(11),
            "no progress for 10 s: worker 0 waits for worker 2, worker 2 waits for worker 0; both "
            "reach the coordinator, but perhaps not each other");
  EXPECT_EQ(watch_.look(kStallLimits, worker_name, 11)->pair, std::pair(0, 2));
}

TEST_F(StallWatchTest, NamesThePairWhileOthersGoOn) {
  for (Seconds now = 1; now <= 12; ++now) {
    report({2, kComputes, 0}, now, now);
    watch_.on_progress(1, now);
  }
  EXPECT_EQ(text(12),
            "no progress of worker 0 and worker 2 for 11 s: they wait for each other; both reach "
            "the coordinator, but perhaps not each other");
}

TEST_F(StallWatchTest, ASilentProcessComesFirst) {
  report({1, 1, kComputes}, 1, 1);
  for (Seconds now = 2; now <= 11; ++now) {
    watch_.on_waits(0, wait_of(1), now);
    watch_.on_heard(2, now);
  }
  EXPECT_EQ(text(11),
            "no progress for 10 s: nothing was heard from worker 1 for 10 s, worker 2 computes, "
            "worker 0 waits for worker 1");
}

TEST_F(StallWatchTest, TellsOncePerPatience) {
  int told = 0;
  for (Seconds now = 1; now <= 45; ++now) {
    report({1, 2, kAnyRank}, now, now);
    told += watch_.news(kStallLimits, worker_name, now) ? 1 : 0;
  }
  EXPECT_EQ(told, 4);  // at 11, 21, 31 and 41
}

TEST(StallWatch, IsAsPatientAsHeartbeatsAndMeasuredStepsWant) {
  EXPECT_EQ(StallWatch::patience({.heartbeat = 5, .step = 0.1}), 10);
  EXPECT_EQ(StallWatch::patience({.heartbeat = 5, .step = 60}), 240);
  EXPECT_EQ(StallWatch::patience({.heartbeat = 5, .step = 0}), 10) << "no step is known yet";
}

TEST(StallWatch, NamesFewOfMany) {
  StallWatch watch(100, 2);
  watch.begin_term(0);
  for (Rank rank = 0; rank < 102; ++rank) {
    watch.on_heard(rank, 10);
  }
  const auto stall = watch.look(kStallLimits, worker_name, 10);
  ASSERT_TRUE(stall);
  EXPECT_TRUE(stall->text.ends_with("worker 7 computes, and so on, 92 more")) << stall->text;
}

TEST(StallWatch, IgnoresRanksThatItDoesNotKnow) {
  StallWatch watch(2, 1);
  for (const Rank rank : {kCoordinator, kAnyRank, 3, 1 << 30}) {
    watch.on_heard(rank, 1);
    watch.on_progress(rank, 1);
    watch.on_finished(rank);
    watch.on_waits(rank, wait_of(0), 1);
  }
  for (const Rank rank : {kCoordinator, kAnyRank, 3, 1 << 30, -70'000}) {
    watch.on_waits(0, wait_of(rank), 1);
    watch.on_waits(1, wait_of(rank), 1);
    EXPECT_TRUE(watch.look(kStallLimits, worker_name, 100));
  }
}

// Whatever the workers say, and whenever: as long as one of them makes progress often enough there
// is no stall, unless two say that they wait for each other.
RC_GTEST_PROP(StallWatchProperty, ProgressIsNoStall, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  const StallLimits limits{.heartbeat = *rc::gen::inRange(1, 10) * 1.0,
                           .step = *rc::gen::inRange(0, 10) * 1.0};
  StallWatch watch(workers, 0);
  watch.begin_term(0);
  Seconds now = 0;
  for (int i = 0; i < 50; ++i) {
    now += *rc::gen::inRange(0, 100) / 100.0 * StallWatch::patience(limits);
    const auto before = watch.look(limits, worker_name, now);
    RC_ASSERT(!before || before->pair);
    watch.on_waits(*rc::gen::inRange(0, workers), wait_of(*rc::gen::inRange(-2, workers)), now);
    const Rank rank = *rc::gen::inRange(0, workers);
    watch.on_progress(rank, now);
    const auto stall = watch.look(limits, worker_name, now);
    RC_ASSERT(!stall || stall->pair);
  }
}

// And without progress there is never more than the patience without a word.
RC_GTEST_PROP(StallWatchProperty, NoProgressIsSaidInTime, ()) {
  const int workers = *rc::gen::inRange(1, 6);
  const StallLimits limits{.heartbeat = 5, .step = *rc::gen::inRange(0, 10) * 1.0};
  StallWatch watch(workers, 0);
  watch.begin_term(0);
  std::vector<Rank> waits;
  for (Rank rank = 0; rank < workers; ++rank) {
    waits.push_back(*rc::gen::inRange(-3, workers));
    watch.on_waits(rank, wait_of(waits.back()), 0);
  }
  Seconds last_word = 0;
  for (Seconds now = 1; now < 200; ++now) {
    for (Rank rank = 0; rank < workers; ++rank) {
      if (*rc::gen::inRange(0, 4) > 0) {
        watch.on_waits(rank, wait_of(waits[static_cast<std::size_t>(rank)]), now);
      }
    }
    if (watch.news(limits, worker_name, now)) {
      last_word = now;
    }
    RC_ASSERT(now - last_word <= StallWatch::patience(limits) + 1);
  }
}

}  // namespace
}  // namespace motley
