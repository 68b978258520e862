#include "sync/check_dealing.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/simulated_job.h"

namespace motley {
namespace {

Job dealt_job(std::string sync = "all_reduce") {
  Job job = simulated_job(std::move(sync), {1, 1}, 8, 10);
  job.strategy.allocation = "equal";
  return job;
}

std::string problem(const Job& job, std::int64_t samples) {
  const Status status = check_dealing(job, samples);
  return status ? "none" : status.error().message;
}

bool says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(CheckDealing, WholeBatchesNeedOne) {
  Job job = dealt_job();
  EXPECT_EQ(problem(job, 7), "none");
  job.train.drop_last = true;
  EXPECT_EQ(problem(job, 8), "none");
  EXPECT_TRUE(says(problem(job, 7), "the data set has 7 samples, less than a batch"));
}

TEST(CheckDealing, ASmallLastStepIsRefused) {
  Job job = dealt_job();
  job.train.min_share = 2;
  EXPECT_EQ(problem(job, 18), "none");
  EXPECT_TRUE(says(problem(job, 17), "the last step of an epoch has only 1 of the 17 samples"));
  job.train.drop_last = true;
  EXPECT_EQ(problem(job, 17), "none");
  job.train.min_share = 9;
  EXPECT_TRUE(says(problem(job, 17), "a step has only 8 samples"));
}

TEST(CheckDealing, PlacesStayOnlyIfNothingMovesThem) {
  Job job = dealt_job();
  job.train.sticky = true;
  job.cluster.elastic = false;
  EXPECT_EQ(problem(job, 16), "none");
  EXPECT_TRUE(says(problem(job, 17), "set train.drop_last = true"));
  job.train.drop_last = true;
  EXPECT_EQ(problem(job, 17), "none");
  job.cluster.elastic = true;
  EXPECT_TRUE(says(problem(job, 17), "set cluster.elastic = false"));
  job.cluster.elastic = false;
  job.strategy.allocation = "adaptive";
  EXPECT_TRUE(says(problem(job, 17), "use equal or static"));
  job.strategy = dealt_job("hop").strategy;
  EXPECT_TRUE(says(problem(job, 17), "\"hop\", whose workers go at their own pace"));
}

TEST(CheckDealing, OnlyProgramsHaveAnOrderOfTheirOwn) {
  Job job = dealt_job();
  job.train.order = SampleOrder::kOwn;
  EXPECT_TRUE(says(problem(job, 16), "only for programs"));
  job.model.kind = ModelKind::kProgram;
  EXPECT_EQ(problem(job, 16), "none");
}

}  // namespace
}  // namespace motley
