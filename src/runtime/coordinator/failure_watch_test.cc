#include "runtime/coordinator/failure_watch.h"

#include <gtest/gtest.h>

#include "motley/base/failure.h"
#include "runtime/coordinator/gathering.h"

namespace motley {
namespace {

class FailureWatchTest : public testing::Test {
 protected:
  bool has_failed(Seconds now) const {
    try {
      watch_.throw_root_cause(now);
    } catch (const RunFailed&) {
      return true;
    }
    return false;
  }

  const Job job_ = [] {
    Job job;
    job.cluster.workers = 2;
    return job;
  }();
  const Gathering gathering_ = completed({});
  Members members_{job_, gathering_, "token", 1};
  FailureWatch watch_{members_, {.to_join = 60, .heartbeat = 5}};
};

TEST_F(FailureWatchTest, WhoLosesAnotherIsPerhapsNotTheCause) {
  watch_.on_peer_lost(1, "rank 0 has left the run", 10);
  EXPECT_FALSE(has_failed(10.5));
  EXPECT_TRUE(has_failed(11.5));
}

TEST_F(FailureWatchTest, WhoLosesAnotherWhenAllLeaveHasNotFailed) {
  watch_.expect_exits();
  watch_.on_peer_lost(1, "rank 0 has left the run", 10);
  EXPECT_FALSE(has_failed(20));
}

}  // namespace
}  // namespace motley
