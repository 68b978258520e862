#include "sync/adsp/adsp.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "motley/sync/adsp.h"
#include "tests/figure.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

// Speeds up to 1 : 8, random numbers of commits, with and without slowdowns.
TEST(Adsp, CommitsStayEqualInNumberWhateverTheSpeeds) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, 0xad5b);
    std::vector<double> speeds(2 + random.below(7));
    for (double& speed : speeds) {
      speed = 0.125 + 0.875 * random.uniform();
    }
    speeds.front() = 1;
    speeds.back() = 0.125;
    Job job = simulated_job("adsp", speeds, 10 * std::ssize(speeds), 600);
    job.strategy.of<AdspOptions>().commits = 1 + static_cast<std::int64_t>(random.below(8));
    job.strategy.of<AdspOptions>().search = random.below(2) == 1;
    const RunOutcome outcome = simulate_phantom(job);
    EXPECT_LE(*figure(outcome, "largest_difference"), 2) << seed;
    EXPECT_GT(*figure(outcome, "period"), 0);
  }
}

TEST(Adsp, NobodyWaits) {
  Job job = simulated_job("adsp", {1, 1, 1, 0.125}, 400, 200);
  const RunOutcome outcome = simulate_phantom(job);
  // Workers wait only at the end of the run.
  EXPECT_NEAR(static_cast<double>(outcome.samples) / outcome.seconds / 3125, 1, 0.05);
}

TEST(Adsp, TheSearchGoesOnWhileMoreCommitsEarnMore) {
  Job job = simulated_job("adsp", {1, 0.5, 0.25}, 60, 2'000);
  job.strategy.of<AdspOptions>().commits = 1;
  ToyTask task(1'000, 40, 3, 0.01);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  const auto& figures = outcome.service.figures;
  const auto tried = std::ranges::find(figures, "commits_per_period", &Figure::name);
  const auto& commits = std::get<std::vector<std::int64_t>>(tried->value);
  ASSERT_GT(commits.size(), 3U);
  EXPECT_EQ(commits[0], 1);
  EXPECT_EQ(commits[1], 2);
  EXPECT_LE(std::ranges::max(commits), 32);
}

}  // namespace
}  // namespace motley
