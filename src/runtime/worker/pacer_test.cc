#include "runtime/worker/pacer.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/random.h"

namespace motley {
namespace {

TEST(Pacer, AStepSleepsForTheRestOfItsCost) {
  Pacer pacer;
  EXPECT_DOUBLE_EQ(pacer.rest(10, 4), 6);
  EXPECT_DOUBLE_EQ(pacer.rest(10, 12), 0);
  EXPECT_EQ(pacer.pace().steps, 2);
  EXPECT_EQ(pacer.pace().missed, 1);
}

TEST(Pacer, TheNextStepPaysForWhatHasNoCost) {
  Pacer pacer;
  pacer.owe(1);
  pacer.owe(2);
  EXPECT_DOUBLE_EQ(pacer.rest(10, 4), 3);
  EXPECT_DOUBLE_EQ(pacer.rest(10, 4), 6);
  EXPECT_EQ(pacer.pace().missed, 0);
}

// Otherwise one long pause would be followed by many steps without any sleep.
TEST(Pacer, TimeBeyondOneStepStaysLate) {
  Pacer pacer;
  pacer.owe(25);
  EXPECT_DOUBLE_EQ(pacer.rest(10, 4), 0);
  EXPECT_DOUBLE_EQ(pacer.rest(10, 4), 6);
  EXPECT_EQ(pacer.pace().missed, 1);
}

// Steps that a machine can keep take as long as their costs, whatever happens between them.
RC_GTEST_PROP(Pacer, ARunLastsAsLongAsItsCosts, (std::uint64_t seed)) {
  Random random(seed);
  Pacer pacer;
  Seconds clock = 0;
  Seconds costs = 0;
  Seconds between = 0;  // not yet compensated
  for (int step = 0; step < 50; ++step) {
    const Seconds cost = 1 + random.uniform();
    const Seconds took = 0.5 * random.uniform();
    clock += took;
    clock += pacer.rest(cost, took);
    costs += cost;
    RC_ASSERT(std::abs(clock - costs) < 1e-9);
    between = 0.5 * random.uniform();
    clock += between;
    pacer.owe(between);
    RC_ASSERT(clock - costs <= between + 1e-9);
  }
  RC_ASSERT(pacer.pace().missed == 0);
}

}  // namespace
}  // namespace motley
