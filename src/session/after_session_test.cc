#include "session/after_session.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace motley::after_session_test {
namespace {

constexpr SessionEnd kLost = {.lost = true, .trained = true};

SessionEnd any_end() {
  return {.let_go = *rc::gen::arbitrary<bool>(),
          .told_why = *rc::gen::arbitrary<bool>(),
          .failed_here = *rc::gen::arbitrary<bool>(),
          .lost = *rc::gen::arbitrary<bool>(),
          .asked_to_leave = *rc::gen::arbitrary<bool>(),
          .trained = *rc::gen::arbitrary<bool>()};
}

TEST(AfterSession, AWorkerThatWasLostJoinsAgain) {
  EXPECT_EQ(after_session(kLost, {}, 0), AfterSession::kJoinsAgain);
}

TEST(AfterSession, OneThatIsStartedAgainByOthersDoesNot) {
  EXPECT_EQ(after_session(kLost, {.may_return = false}, 0), AfterSession::kHasFailed);
}

// Also if the connection breaks afterwards.
TEST(AfterSession, OneThatWasLetGoIsDone) {
  EXPECT_EQ(after_session({.let_go = true}, {}, 0), AfterSession::kIsDone);
  EXPECT_EQ(after_session({.let_go = true, .lost = true, .trained = true}, {}, 0),
            AfterSession::kIsDone);
}

// It was being taken away, and did not learn whether the others have what it had done.
TEST(AfterSession, OneThatIsLostWhileItLeavesHasFailed) {
  EXPECT_EQ(after_session({.lost = true, .asked_to_leave = true, .trained = true}, {}, 0),
            AfterSession::kHasFailed);
}

// A coordinator that lets it in and cannot be reached afterwards: behind a firewall, for example.
TEST(AfterSession, OneThatNeverTrainedHasFailed) {
  EXPECT_EQ(after_session({.lost = true}, {}, std::nullopt), AfterSession::kHasFailed);
}

TEST(AfterSession, OneThatNoLongerTrainsGivesUpInTime) {
  EXPECT_EQ(after_session({.lost = true}, {.patience = 60}, 59), AfterSession::kJoinsAgain);
  EXPECT_EQ(after_session({.lost = true}, {.patience = 60}, 61), AfterSession::kHasFailed);
  EXPECT_EQ(after_session(kLost, {.patience = 60}, 61), AfterSession::kJoinsAgain);
}

RC_GTEST_PROP(AfterSession, OnlyWhoeverIsLostWithoutAWordJoinsAgain, ()) {
  const SessionEnd end = any_end();
  const ReturnRules rules = {.may_return = *rc::gen::arbitrary<bool>(), .patience = 60};
  const Seconds idle = static_cast<Seconds>(*rc::gen::inRange(0, 120));
  if (after_session(end, rules, idle) == AfterSession::kJoinsAgain) {
    RC_ASSERT(end.lost && rules.may_return);
    RC_ASSERT(!end.let_go && !end.told_why && !end.failed_here && !end.asked_to_leave);
  }
}

RC_GTEST_PROP(AfterSession, AFailureStaysOne, ()) {
  SessionEnd end = any_end();
  (*rc::gen::arbitrary<bool>() ? end.told_why : end.failed_here) = true;
  RC_ASSERT(after_session(end, {}, 0) == AfterSession::kHasFailed);
}

}  // namespace
}  // namespace motley::after_session_test
