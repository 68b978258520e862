#include "session/resume_point.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <fstream>

#include "job/parse.h"
#include "session/run_checkpoints.h"
#include "state/checkpoint_store.h"
#include "sync/registry.h"
#include "tests/scratch_dir.h"

namespace motley::resume_point_test {
namespace {

namespace fs = std::filesystem;

Job job_of(std::vector<std::string> overrides) {
  return *parse_job(job_schema(), "", "job.toml", overrides, Mode::kConfig);
}

std::string refusal(std::vector<std::string> before, std::vector<std::string> now) {
  const Status status = check_resume(job_schema(), job_of(before), job_of(now));
  return status ? "none" : status.error().message;
}

TEST(CheckResume, WhatMakesSenseMayChange) {
  for (const char* change :
       {"train.epochs=9", "train.steps=100", "train.lr=0.5", "train.eval_every=3",
        "train.target_accuracy=0.9", "train.checkpoint_every=7", "train.checkpoint_keep=1",
        "train.momentum=0.1", "strategy.sync=hop", "strategy.allocation=adaptive",
        "strategy.codec=fp16", "cluster.workers=7", "cluster.unit=0.1", "name=other"}) {
    EXPECT_EQ(refusal({}, {change}), "none") << change;
  }
}

TEST(CheckResume, ModelAndDataMayNotChange) {
  EXPECT_EQ(refusal({}, {"model.kind=svm"}),
            "model.kind is \"svm\", but the run to go on with has \"mlp\": it cannot change");
  EXPECT_EQ(refusal({}, {"data.samples=7"}),
            "data.samples is 7, but the run to go on with has 10000: it cannot change");
  EXPECT_EQ(refusal({}, {"seed=2"}),
            "seed is 2, but the run to go on with has 1: it cannot change");
  EXPECT_EQ(refusal({}, {"train.batch=512"}),
            "train.batch is 512, but the run to go on with has 256: it cannot change");
  EXPECT_EQ(refusal({}, {"train.optimizer=adam"}),
            "train.optimizer is \"adam\", but the run to go on with has \"sgd\": it cannot change");
  EXPECT_EQ(refusal({"model.kind=phantom", "model.parameters=5"},
                    {"model.kind=phantom", "model.parameters=6"}),
            "model.parameters is 6, but the run to go on with has 5: it cannot change");
  EXPECT_EQ(refusal({"data.kind=idx", "data.path=a"}, {"data.kind=idx", "data.path=b"}),
            "data.path is \"b\", but the run to go on with has \"a\": it cannot change");
}

// Any number of changes: one that may not be is named, the others do not matter.
RC_GTEST_PROP(CheckResume, RefusesExactlyWhatMayNotChange, ()) {
  const std::vector<std::string> may = {
      "train.epochs=9",    "train.lr=0.5",      "train.eval_every=3", "train.checkpoint_every=7",
      "strategy.sync=hop", "cluster.workers=7", "name=other",         "cluster.unit=0.1"};
  const std::vector<std::string> may_not = {
      "seed=9",          "train.batch=77", "train.optimizer=adam",
      "data.samples=77", "data.classes=3", "model.kind=svm"};
  std::vector<std::string> changes;
  std::vector<std::string> forbidden;
  for (const std::string& change : may) {
    if (*rc::gen::arbitrary<bool>()) {
      changes.push_back(change);
    }
  }
  for (const std::string& change : may_not) {
    if (*rc::gen::inRange(0, 4) == 0) {
      changes.push_back(change);
      forbidden.push_back(change.substr(0, change.find('=')));
    }
  }
  const std::string why = refusal({}, changes);
  RC_ASSERT((why == "none") == forbidden.empty());
  RC_ASSERT(forbidden.empty() || std::ranges::any_of(forbidden, [&](const std::string& key) {
              return why.starts_with(key + " is ");
            }));
  RC_ASSERT(refusal(changes, changes) == "none");
}

class FindResumePoint : public testing::Test {
 protected:
  fs::path run(const std::string& name) const { return fs::path(scratch_.file("runs")) / name; }

  // Writes a checkpoint of a run.
  void write(const std::string& name, std::int64_t step, const std::string& job = "mine",
             const std::string& mode = "simulate") {
    fs::create_directories(run(name));
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.state.values = {{kSavedName, job}, {kSavedMode, mode}, {kSavedJob, "seed = 1"}};
    CheckpointStore store(real_files(), run(name) / kCheckpointsDirectory);
    ASSERT_TRUE(store.write(checkpoint));
  }

  Result<ResumePoint> find(const std::string& where, std::optional<std::string> name = {}) const {
    return find_resume_point(where, {.mode = "simulate", .name = name, .parent = run("")});
  }
  std::string why_not(const std::string& where, std::optional<std::string> name = {}) const {
    const auto point = find(where, name);
    return point ? "none" : point.error().message;
  }

  ScratchDir scratch_;
};

TEST_F(FindResumePoint, TakesTheNewestOfARun) {
  write("a", 5);
  write("a", 10);
  for (const std::string& where : {run("a").string(), run("a").string() + "/"}) {
    const auto point = find(where);
    ASSERT_TRUE(point) << point.error().message;
    EXPECT_EQ(point->checkpoint.step, 10);
    EXPECT_EQ(point->run, run("a"));
    EXPECT_EQ(point->path, run("a") / "checkpoints" / "10");
    EXPECT_EQ(point->job(), "seed = 1");
    EXPECT_TRUE(point->passed_over.empty());
  }
}

TEST_F(FindResumePoint, TakesTheCheckpointThatIsNamed) {
  write("a", 5);
  write("a", 10);
  const auto point = find(run("a") / "checkpoints" / "5");
  ASSERT_TRUE(point) << point.error().message;
  EXPECT_EQ(point->checkpoint.step, 5);
  EXPECT_EQ(point->run, run("a"));
}

TEST_F(FindResumePoint, PassesOverWhatIsNotWhole) {
  write("a", 5);
  write("a", 10);
  std::ofstream(run("a") / "checkpoints" / "10" / "state.json", std::ios::app) << "x";
  const auto point = find(run("a"));
  ASSERT_TRUE(point) << point.error().message;
  EXPECT_EQ(point->checkpoint.step, 5);
  ASSERT_EQ(point->passed_over.size(), 1U);
  EXPECT_NE(point->passed_over[0].find("checkpoints/10/state.json"), std::string::npos);
  EXPECT_NE(why_not(run("a") / "checkpoints" / "10").find("state.json"), std::string::npos);
}

TEST_F(FindResumePoint, TheLatestIsOfThisJobAndThisKindOfRun) {
  write("a", 5);
  write("b", 3, "other");
  write("c", 4, "mine", "train");
  EXPECT_EQ(find("latest", "mine")->run, run("a"));
  EXPECT_EQ(find("latest", "other")->run, run("b"));
  EXPECT_EQ(find("latest")->run, run("b"));
  EXPECT_EQ(why_not("latest", "nobody"),
            fmt::format("no run of the job \"nobody\" in {} has a checkpoint of `motley simulate`",
                        run("").string()));
}

TEST_F(FindResumePoint, RefusesWhatIsNoCheckpointOfThisKind) {
  EXPECT_EQ(why_not(run("nowhere")), run("nowhere").string() + ": no such directory");
  fs::create_directories(run("empty"));
  EXPECT_EQ(why_not(run("empty")),
            (run("empty") / "checkpoints").string() + ": there is no checkpoint");
  write("real", 4, "mine", "train");
  EXPECT_NE(why_not(run("real")).find("was written by `motley train`"), std::string::npos);
  fs::create_directories(run("bare"));
  CheckpointStore store(real_files(), run("bare") / kCheckpointsDirectory);
  ASSERT_TRUE(store.write({.step = 1, .accuracy = {}, .state = {}, .files = {}}));
  EXPECT_NE(why_not(run("bare")).find("is not a checkpoint of a run"), std::string::npos);
}

}  // namespace
}  // namespace motley::resume_point_test
