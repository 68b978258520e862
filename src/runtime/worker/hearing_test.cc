#include "runtime/worker/hearing.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

using namespace std::chrono_literals;

TEST(Hearing, SaysForHowLongNothingHasCome) {
  Hearing hearing;
  hearing.hear(100s);
  for (auto now = 100'000ms; now <= 107s; now += 100ms) {
    EXPECT_EQ(hearing.silence(now), now - 100s);
  }
  hearing.hear(107s);
  EXPECT_EQ(hearing.silence(107'100ms), 100ms);
}

TEST(Hearing, DoesNotCountTheTimeInWhichThisProcessDidNotRun) {
  Hearing hearing;
  hearing.hear(100s);
  hearing.silence(100s);
  hearing.silence(100'100ms);
  EXPECT_EQ(hearing.silence(160'100ms), 100ms) << "it was stopped for a minute";
  EXPECT_EQ(hearing.silence(160'200ms), 200ms);
}

}  // namespace
}  // namespace motley
