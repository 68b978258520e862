// Changes of the job in a file: overrides and variants.
#include <gtest/gtest.h>

#include "job/parse.h"
#include "sync/registry.h"
#include "tests/job_text.h"

namespace motley {
namespace {

TEST(Override, ReplacesAValue) {
  EXPECT_EQ(good("train.batch = 3", {"train.batch=64"}).train.batch, 64);
  EXPECT_EQ(good("", {"train.batch=64", " train.batch = 128 "}).train.batch, 128);
  EXPECT_EQ(good("", {"name=foo"}).name, "foo");
  EXPECT_EQ(good("", {"name='foo'"}).name, "foo");
  EXPECT_EQ(good("", {"name=a=b#c"}).name, "a=b#c");
  EXPECT_EQ(good("", {"cluster.workers=3", "cluster.speeds=[1,1,0.5]"}).cluster.speeds,
            (std::vector{1.0, 1.0, 0.5}));
  EXPECT_EQ(good("", {"cluster={workers=2, unit=0.5}"}).cluster.unit, 0.5);
  EXPECT_EQ(good("", {"cluster.event=[{at=1,worker=0,speed=2}]"}).cluster.events.size(), 1U);
  EXPECT_EQ(good("train.optimizer = 'adam'\ntrain.lr = 3", {"train.optimizer=sgd"}).train.lr, 3);
}

TEST(Override, MistakesNameTheFlag) {
  EXPECT_EQ(error_of("", {"train.bach=3"}),
            "--set train.bach=3: unknown key \"train.bach\"; did you mean \"train.batch\"?");
  EXPECT_EQ(error_of("", {"train.batch=-3"}),
            "--set train.batch=-3: train.batch is -3, but must be from 1 to 1000000000");
  EXPECT_EQ(error_of("", {"train.batch=lots"}),
            "--set train.batch=lots: train.batch is a string, but should be an integer");
  EXPECT_EQ(error_of("", {"cluster.speeds=[1,1,0.5]"}),
            "--set cluster.speeds=[1,1,0.5]: cluster.speeds has 3 entries, but cluster.workers is "
            "4");
  EXPECT_EQ(error_of("", {"strategy.codec=fp8"}),
            "--set strategy.codec=fp8: strategy.codec = \"fp8\" is not a codec "
            "(available: none, fp16, bf16, int8, topk)");
  EXPECT_EQ(error_of("", {"quiet"}), "--set quiet: should be key=value");
  EXPECT_EQ(error_of("", {"=3"}), "--set =3: should be key=value");
  EXPECT_EQ(error_of("", {"train.batch.size=3"}),
            "--set train.batch.size=3: unknown key \"train.batch.size\"; did you mean "
            "\"train.batch\"?");
  EXPECT_EQ(error_of("", {"data.path=\xff"}),
            "--set data.path=\xff: not valid TOML: encountered invalid utf-8 sequence");
  EXPECT_EQ(error_of("", {"name="}), "--set name=: name is empty");
  EXPECT_EQ(
      error_of("", {"train.batch=1\ntrain.lr=2"}),
      "--set train.batch=1\\x0atrain.lr=2: train.batch is a string, but should be an integer");
}

TEST(Variant, IsCheckedAsAJob) {
  good("[[variant]]\nname = 'a'\ntrain.batch = 8\n[[variant]]\nname = 'b'\ncluster.workers = 2");
  EXPECT_EQ(good("[[variant]]\nname = 'a'\ntrain.batch = 8").train.batch, 256);
  EXPECT_EQ(error_of("[[variant]]\nname = 'a'\ntrain.bach = 8"),
            "job.toml:3: unknown key \"train.bach\"; did you mean \"train.batch\"?");
  EXPECT_EQ(error_of("[[variant]]\nname = 'a'\ntrain.batch = 2"),
            "job.toml:3: train.batch is 2, but cluster.workers is 4: every worker needs a sample "
            "in every step");
  EXPECT_EQ(error_of("[[variant]]\nname = 'a'\nstrategy.codec = 'fp8'"),
            "job.toml:3: strategy.codec = \"fp8\" is not a codec "
            "(available: none, fp16, bf16, int8, topk)");
}

TEST(Variant, HasANameOfItsOwn) {
  EXPECT_EQ(error_of("\n[[variant]]\ntrain.batch = 8"),
            "job.toml:2: a variant needs a name (a string)");
  EXPECT_EQ(error_of("[[variant]]\nname = 'a'\n[[variant]]\nname = 'a'"),
            "job.toml:4: two variants have the name \"a\"");
  EXPECT_EQ(error_of("[[variant]]\nname = ''"), "job.toml:2: name is empty");
  EXPECT_EQ(error_of("variant = 3"),
            "job.toml:1: variant is an integer, but should be a list of tables, [[variant]]");
  EXPECT_EQ(error_of("variant = [3]"),
            "job.toml:1: a variant is an integer, but should be a table");
}

constexpr std::string_view kTwoVariants = R"(
name = "both"
cluster.workers = 2
train.batch = 64
[[variant]]
name = "a"
train.batch = 8
[[variant]]
name = "b"
model.kind = "phantom"
model.parameters = 10
cluster.unit = 1e-3
)";

TEST(Variant, IsTheJobWithItsKeysChanged) {
  const auto both = parse_variants(job_schema(), kTwoVariants, "job.toml", {}, Mode::kConfig);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->name, "both");
  ASSERT_EQ(both->jobs.size(), 2);
  EXPECT_EQ(both->jobs[0].name, "a");
  EXPECT_EQ(both->jobs[0].train.batch, 8);
  EXPECT_EQ(both->jobs[1].name, "b");
  EXPECT_EQ(both->jobs[1].train.batch, 64);
  EXPECT_TRUE(both->jobs[1].phantom());
}

TEST(Variant, GivesWayToOverrides) {
  const std::vector<std::string> overrides{"train.batch=16", "name=other"};
  const auto both =
      parse_variants(job_schema(), kTwoVariants, "job.toml", overrides, Mode::kConfig);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->name, "other");
  EXPECT_EQ(both->jobs[0].name, "a");
  EXPECT_EQ(both->jobs[0].train.batch, 16);
}

// A phantom job cannot be trained, and a job without a pace cannot be simulated.
TEST(Variant, OnlyTheWantedOneNeedsToFitTheMode) {
  EXPECT_TRUE(parse_variant(job_schema(), kTwoVariants, "job.toml", {}, Mode::kTrain, "a"));
  EXPECT_TRUE(parse_variant(job_schema(), kTwoVariants, "job.toml", {}, Mode::kSimulate, "b"));
  EXPECT_EQ(
      parse_variant(job_schema(), kTwoVariants, "job.toml", {}, Mode::kTrain, "b").error().message,
      "job.toml:10: model.kind = \"phantom\" can only be simulated: it computes nothing");
  EXPECT_EQ(
      parse_variants(job_schema(), kTwoVariants, "job.toml", {}, Mode::kSimulate).error().message,
      "job.toml:3: simulate needs cluster.unit above 0: the seconds that one sample takes at "
      "speed 1");
}

TEST(Variant, ThatIsNotThereIsSaid) {
  EXPECT_EQ(
      parse_variant(job_schema(), kTwoVariants, "job.toml", {}, Mode::kConfig, "c").error().message,
      "job.toml: no variant \"c\"; available: a, b");
  EXPECT_EQ(parse_variant(job_schema(), "", "job.toml", {}, Mode::kConfig, "c").error().message,
            "job.toml: no variant \"c\"; the file has no variants");
  EXPECT_EQ(
      parse_variants(job_schema(), "", "job.toml", {}, Mode::kConfig).error().message,
      "job.toml: no [[variant]] to compare; add one with a name and the keys that it changes");
}

}  // namespace
}  // namespace motley
