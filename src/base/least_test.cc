#include "motley/base/least.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace motley {
namespace {

// Compared with a scan of all values, for the whole and for every run.
RC_GTEST_PROP(Least, IsTheLeastOfEveryRun, ()) {
  const auto places = *rc::gen::inRange<std::size_t>(1, 20);
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  std::vector<int> values(places, 5);
  Least<int> least(places, 5);
  for (int change = 0; change < 30; ++change) {
    const auto place = static_cast<std::size_t>(random.below(places));
    values[place] = static_cast<int>(random.below(10));
    least.set(place, values[place]);
    RC_ASSERT(least[place] == values[place]);
    RC_ASSERT(least.least() == *std::min_element(values.begin(), values.end()));
    for (int level = 0; level <= least.top(); ++level) {
      for (std::size_t run = 0; run << level < places; ++run) {
        int expected = Least<int>::kNothing;
        for (std::size_t i = run << level; i < std::min((run + 1) << level, places); ++i) {
          expected = std::min(expected, values[i]);
        }
        RC_ASSERT(least.of_run(level, run) == expected);
      }
    }
  }
}

TEST(Least, OfNothingIsNothing) { EXPECT_EQ(Least<int>(3).least(), Least<int>::kNothing); }

}  // namespace
}  // namespace motley
