#include "runtime/coordinator/method_service.h"

#include <gtest/gtest.h>

#include "fabric/driver.h"
#include "motley/base/failure.h"
#include "runtime/worker/real_node.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

constexpr std::int64_t kSamples = 1'000;

// A method whose service waits for messages of workers, which never arrive.
Job waiting_job() { return simulated_job("partial_reduce", {1, 1, 1, 1}, 40, 25); }

class MethodServiceTest : public testing::Test {
 protected:
  Driver driver_;
  RealNode node_{driver_, kCoordinator, 4};
  Journal journal_;
};

TEST_F(MethodServiceTest, IsOverAtOnceWhenTheMethodHasNone) {
  const Job job = simulated_job("all_reduce", {1, 1, 1, 1}, 40, 25);
  MethodService service(node_, job, kSamples, &journal_);
  service.finish();
  EXPECT_FALSE(service.is_serving());
}

TEST_F(MethodServiceTest, CanBeEndedAndMadeAgainOnTheSameNode) {
  const Job job = waiting_job();
  for (std::uint16_t term = 0; term < 3; ++term) {
    node_.begin_term(term);
    MethodService service(node_, job, kSamples, &journal_);
    EXPECT_TRUE(service.is_serving());
    service.end();
    EXPECT_FALSE(service.is_serving());
    service.rethrow_failure();  // an end is not a failure
  }
}

TEST_F(MethodServiceTest, EndsWithItsNode) {
  const Job job = waiting_job();
  MethodService service(node_, job, kSamples, &journal_);
  node_.stop("the run is over");
  service.finish();
  EXPECT_FALSE(service.is_serving());
}

}  // namespace
}  // namespace motley
