#include "runtime/coordinator/root_cause.h"

#include <gtest/gtest.h>

namespace motley {
namespace {

TEST(RootCause, IsNotThereBeforeAnythingFails) {
  EXPECT_EQ(RootCause().verdict(1e9), std::nullopt);
}

TEST(RootCause, ACauseCountsAtOnceAndTheFirstOneCounts) {
  RootCause cause;
  cause.suspect("first", 1, false);
  cause.suspect("second", 2, false);
  cause.suspect("what follows", 2, true);
  EXPECT_EQ(cause.verdict(1), "first");
}

TEST(RootCause, AConsequenceWaitsForItsCause) {
  RootCause cause;
  cause.suspect("what follows", 1, true);
  cause.suspect("what follows, too", 1.5, true);
  EXPECT_EQ(cause.verdict(1 + RootCause::kGrace), std::nullopt);
  EXPECT_EQ(cause.verdict(1.001 + RootCause::kGrace), "what follows");
  cause.suspect("cause", 3, false);
  EXPECT_EQ(cause.verdict(3), "cause");
}

}  // namespace
}  // namespace motley
