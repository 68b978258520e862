#include "runtime/run/term_log.h"

#include <gtest/gtest.h>

#include "runtime/run/membership.h"

namespace motley {
namespace {

std::vector<MemberRecord> all_of(const Membership& workers, const Membership& servers) {
  std::vector<MemberRecord> all = workers.history();
  all.insert(all.end(), servers.history().begin(), servers.history().end());
  return all;
}

class TermLogs : public testing::Test {
 protected:
  TermRecord next() { return log.next(++number_, ++seconds_, all_of(workers, servers)); }

  TermLog log;
  Membership workers{3};
  Membership servers{1, ProcessKind::kServer};

 private:
  std::int64_t number_ = -1;
  Seconds seconds_ = -1;
};

TEST_F(TermLogs, TheFirstTermBeginsTheRunOrGoesOnWithIt) {
  EXPECT_EQ(next(), (TermRecord{0, 0, TermCause::kStart, ""}));
  TermLog resumed;
  resumed.resume();
  EXPECT_EQ(resumed.next(3, 7, workers.history()).cause, TermCause::kResumption);
}

TEST_F(TermLogs, SaysWhoHasComeAndGone) {
  next();
  workers.leave(2, 0.5, kLeftInOrder);
  log.decided("worker 2 leaves", "");
  EXPECT_EQ(next(), (TermRecord{1, 1, TermCause::kLeave, "worker 2 leaves"}));
  workers.join(2, 1.5, "joined");
  workers.join(3, 1.5, "joined");
  log.decided("worker 2 joins", "");
  log.decided("worker 3 joins", "");
  EXPECT_EQ(next(), (TermRecord{2, 2, TermCause::kNewcomer, "worker 2 joins; worker 3 joins"}));
  workers.leave(0, 2.5, "was lost");
  log.decided("goes on without worker 0", "step 7 is done again");
  log.cut_off();
  EXPECT_EQ(next(),
            (TermRecord{3, 3, TermCause::kLoss, "goes on without worker 0: step 7 is done again"}));
}

TEST_F(TermLogs, ALossMattersMostAndItsReplacementNot) {
  next();
  servers.leave(0, 0.5, "was lost");
  servers.join(0, 0.5, "was started again");
  workers.leave(1, 0.5, kLeftInOrder);
  log.cut_off();
  EXPECT_EQ(next().cause, TermCause::kLoss);
  log.cut_off();
  EXPECT_EQ(next().cause, TermCause::kConnection);  // nobody is gone this time
}

TEST_F(TermLogs, ACheckpointIsTheCauseIfNobodyCameOrWent) {
  next();
  EXPECT_EQ(next().cause, TermCause::kCheckpoint);
  log.decided("worker 9 may not join", "there is no work for it");
  const TermRecord refused = next();
  EXPECT_EQ(refused.cause, TermCause::kOther);
  EXPECT_EQ(refused.reason, "worker 9 may not join: there is no work for it");
}

// Somebody who was lost before it had a part in a term has not ended one.
TEST_F(TermLogs, WhoCameAndWentBetweenTwoTermsIsNoLoss) {
  next();
  workers.join(3, 0.2, "joined");
  workers.leave(3, 0.4, "was lost");
  EXPECT_EQ(next().cause, TermCause::kNewcomer);
}

}  // namespace
}  // namespace motley
