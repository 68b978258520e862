#include "runtime/worker/clock_offset.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

// Answers of a clock that is `offset` ahead, over a network with random delays each way.
std::vector<ClockProbe> answers(std::int64_t offset, Random& random, int count) {
  std::vector<ClockProbe> probes;
  std::int64_t now = static_cast<std::int64_t>(random.below(1'000'000'000));
  for (int i = 0; i < count; ++i) {
    const auto there = static_cast<std::int64_t>(random.below(1'000'000));
    const auto back = static_cast<std::int64_t>(random.below(1'000'000));
    probes.push_back({now, now + there + offset, now + there + back});
    now += there + back + static_cast<std::int64_t>(random.below(1'000));
  }
  return probes;
}

RC_GTEST_PROP(ClockOffset, IsRightToHalfTheShortestRoundTrip, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 1);
  const auto offset = static_cast<std::int64_t>(random.below(1'000'000'000'000)) - 500'000'000'000;
  const auto probes = answers(offset, random, *rc::gen::inRange(1, 20));
  std::int64_t shortest = INT64_MAX;
  for (const ClockProbe& probe : probes) {
    shortest = std::min(shortest, probe.answered - probe.asked);
  }
  RC_ASSERT(std::abs(clock_offset(probes) - offset) <= std::max<std::int64_t>(shortest / 2 + 1, 0));
}

RC_GTEST_PROP(ClockOffset, IsZeroForTheSameClock, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 2);
  RC_ASSERT(clock_offset(answers(0, random, *rc::gen::inRange(1, 20))) == 0);
}

TEST(ClockOffset, WhenAClockWasSetTheQuickerAnswerCounts) {
  EXPECT_EQ(clock_offset(std::vector<ClockProbe>{{0, 5'000, 100}, {1'000, 900'000, 1'010}}),
            900'000 - 1'005);
  EXPECT_EQ(clock_offset(std::vector<ClockProbe>{{0, 5'000, 100}, {1'000, 900'000, 3'000}}),
            5'000 - 50);
}

}  // namespace
}  // namespace motley
