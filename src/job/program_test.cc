// The job of a program that brings its own model, from options in the code, a file and flags.
#include <gtest/gtest.h>

#include "job/parse.h"
#include "job/print.h"
#include "motley/sync/hop.h"
#include "sync/registry.h"

namespace motley {
namespace {

Result<Job> program(const Job& options, std::string_view text,
                    std::vector<std::string> overrides = {}, int workers = 2) {
  return parse_program(job_schema(), options, workers, text, "job.toml", overrides);
}

std::string reason(const Result<Job>& job) { return job ? "none" : job.error().message; }

Job options() {
  Job job;
  job.train.batch = 64;
  job.train.eval_every = 7;
  job.strategy.of<HopOptions>().staleness = 9;
  return job;
}

TEST(ProgramJob, AFileChangesWhatTheCodeSetsAndAFlagChangesBoth) {
  const auto job =
      program(options(), "[train]\nbatch = 32\nsteps = 5\n", {"train.steps=6", "seed=4"});
  ASSERT_TRUE(job) << reason(job);
  EXPECT_EQ(job->train.batch, 32);
  EXPECT_EQ(job->train.eval_every, 7);
  EXPECT_EQ(job->train.steps, 6);
  EXPECT_EQ(job->seed, 4U);
  EXPECT_EQ(job->cluster.workers, 2);
  EXPECT_TRUE(job->of_program());
}

// Settings in the code for a method are kept unused until that method is chosen.
TEST(ProgramJob, KeepsTheSettingsOfAMethodThatAFlagChooses) {
  const auto job = program(options(), "", {"strategy.sync=hop", "strategy.hop.mode=staleness"});
  ASSERT_TRUE(job) << reason(job);
  EXPECT_EQ(job->strategy.of<HopOptions>().staleness, 9);
  EXPECT_EQ(program(options(), "", {"strategy.sync=ashl"})->strategy.codec, CodecKind::kTopk);
}

TEST(ProgramJob, ReadsBackFromItsOwnText) {
  const auto job = program(options(), "");
  ASSERT_TRUE(job) << reason(job);
  const auto again =
      parse_job(job_schema(), to_toml(job_schema(), *job), "job.toml", {}, Mode::kConfig);
  ASSERT_TRUE(again) << reason(again);
  EXPECT_EQ(to_toml(job_schema(), *again), to_toml(job_schema(), *job));
  EXPECT_EQ(to_toml(job_schema(), *job).find("optimizer"), std::string::npos);
}

TEST(ProgramJob, HasMicroBatches) {
  Job code = options();
  code.train.micro_batch = {8};
  EXPECT_EQ(program(code, "")->train.micro_batch, (std::vector<std::int64_t>{8, 8}));
  code.train.micro_batch = {8, 4};
  EXPECT_EQ(program(code, "")->train.micro_batch, (std::vector<std::int64_t>{8, 4}));
  EXPECT_EQ(program(code, "", {"train.micro_batch=3"})->train.micro_batch,
            (std::vector<std::int64_t>{3, 3}));
  code.train.micro_batch = {8, 4, 2};
  EXPECT_EQ(reason(program(code, "")),
            "the program's options: train.micro_batch has 3 entries, but cluster.workers is 2");
  code.train.micro_batch = {0};
  EXPECT_EQ(reason(program(code, "")),
            "the program's options: train.micro_batch is 0, but must be from 1 to 1000000000");
}

TEST(ProgramJob, SaysWhatIsWrongAndWhere) {
  EXPECT_EQ(reason(program(options(), "[cluster]\nworkers = 4\n")),
            "job.toml:2: cluster.workers is 4, but 2 processes were started");
  EXPECT_EQ(reason(program(options(), "[model]\nkind = \"mlp\"\n")),
            "job.toml:2: the program brings its own model and data; remove [model] and [data]");
  EXPECT_EQ(reason(program(options(), "[train]\nlr = 0.1\n")),
            "job.toml:2: train.lr is only for models that motley builds (a program brings "
            "its own optimizer)");
  Job wrong = options();
  wrong.cluster.speeds = {1, 2, 3};
  EXPECT_EQ(reason(program(wrong, "")),
            "the program's options: cluster.speeds has 3 entries, but cluster.workers is 2");
  wrong = options();
  wrong.strategy.sync = "hopp";
  EXPECT_NE(reason(program(wrong, "")).find("did you mean \"hop\"?"), std::string::npos);
}

TEST(ProgramJob, IsNotForTheCommandLine) {
  for (const Mode mode : {Mode::kTrain, Mode::kSimulate}) {
    const auto job =
        parse_job(job_schema(),
                  "[model]\nkind = \"program\"\n[data]\nkind = \"program\"\n[cluster]\nunit = 1\n",
                  "job.toml", {}, mode);
    EXPECT_EQ(reason(job),
              "job.toml:2: \"program\" is only for programs that use motley as a library");
  }
  EXPECT_FALSE(
      parse_job(job_schema(), "[data]\nkind = \"program\"\n", "job.toml", {}, Mode::kConfig));
}

}  // namespace
}  // namespace motley
