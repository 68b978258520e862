#include "sim/event_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

TEST(EventQueue, GivesTheEarliestFirst) {
  EventQueue<int> queue;
  queue.push(3, 30);
  queue.push(1, 10);
  queue.push(2, 20);
  EXPECT_EQ(queue.pop().what, 10);
  EXPECT_EQ(queue.pop().what, 20);
  EXPECT_EQ(queue.pop().what, 30);
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, BreaksTiesByTheOrderOfPushing) {
  EventQueue<int> queue;
  for (int i = 0; i < 1000; ++i) {
    queue.push(1.0, i);
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(queue.pop().what, i);
  }
}

// The queue must give the order of std::stable_sort, also when pushes and pops alternate and many
// times are equal.
TEST(EventQueue, AgreesWithAStableSortForRandomPushesAndPops) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    EventQueue<int> queue;
    std::vector<std::pair<Seconds, int>> expected;  // sorted; ties in the order of pushing
    for (int i = 0; i < 300; ++i) {
      if (random.below(3) > 0 || queue.empty()) {
        const auto at = static_cast<Seconds>(random.below(10));
        queue.push(at, i);
        const auto place = std::upper_bound(
            expected.begin(), expected.end(), at,
            [](Seconds moment, const auto& event) { return moment < event.first; });
        expected.insert(place, {at, i});
      } else {
        const auto event = queue.pop();
        ASSERT_EQ(std::pair(event.at, event.what), expected.front()) << "seed " << seed;
        expected.erase(expected.begin());
      }
    }
    EXPECT_EQ(queue.size(), expected.size());
  }
}

TEST(EventQueue, RemovingSomeKeepsTheOrderOfTheOthers) {
  EventQueue<int> queue;
  for (int i = 0; i < 500; ++i) {
    queue.push(static_cast<Seconds>((i * 7) % 5), i);
  }
  queue.remove_if([](int what) { return what % 3 == 0; });
  std::pair<Seconds, int> previous{-1, -1};
  std::size_t left = 0;
  for (; !queue.empty(); ++left) {
    const auto event = queue.pop();
    EXPECT_NE(event.what % 3, 0);
    EXPECT_LT(previous, std::pair(event.at, event.what));
    previous = {event.at, event.what};
  }
  EXPECT_EQ(left, 333U);
}

}  // namespace
}  // namespace motley
