#include "record/scalars.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "base/random.h"

namespace motley {
namespace {

std::map<std::string, double> map_of(const Scalars& scalars) {
  std::map<std::string, double> all(scalars.begin(), scalars.end());
  EXPECT_EQ(all.size(), scalars.size()) << "a name occurs twice";
  return all;
}

TEST(Scalars, OfARunThatHasOnlyBegun) {
  RunFigures now;
  now.workers = {{0, {}}, {1, {}}};
  EXPECT_EQ(scalars_of(now, {}), Scalars{});
}

TEST(Scalars, NamesAndValues) {
  RunFigures now;
  now.seconds = 0.5;
  now.samples = 2440;
  now.train_loss = 0.25;
  now.workers = {{0, {.compute = 3, .communicate = 0, .wait = 1}},
                 {7, {.compute = 1, .communicate = 2, .wait = 1}}};
  const std::map<std::string, double> expected = {
      {"train/loss", 0.25},       {"throughput/samples_per_second", 4880},
      {"compute/worker_0", 0.75}, {"wait/worker_0", 0.25},
      {"compute/worker_7", 0.25}, {"wait/worker_7", 0.25},
  };
  EXPECT_EQ(map_of(scalars_of(now, {})), expected);
}

TEST(Scalars, PartsAreOfTheTimeSinceTheLast) {
  RunFigures before;
  before.workers = {{0, {.compute = 10, .communicate = 5, .wait = 5}}, {1, {.compute = 7}}};
  before.seconds = 10;
  before.samples = 5'000;
  RunFigures now = before;
  now.seconds += 2;
  now.samples += 100;
  now.workers[0].compute += 1;
  now.workers[0].wait += 3;
  auto scalars = map_of(scalars_of(now, before));
  EXPECT_EQ(scalars.at("throughput/samples_per_second"), 50);
  EXPECT_EQ(scalars.at("compute/worker_0"), 0.25);
  EXPECT_EQ(scalars.at("wait/worker_0"), 0.75);
  EXPECT_FALSE(scalars.contains("compute/worker_1")) << "there is no news of it";
}

TEST(Scalars, AnEvaluationIsApart) {
  Metric metric;
  metric.loss = 0.5;
  metric.accuracy = 0.75;
  EXPECT_EQ(scalars_of(metric), (Scalars{{"test/loss", 0.5}, {"test/accuracy", 0.75}}));
}

TEST(Scalars, AnEvaluationMayHaveOtherNumbersThanAnAccuracy) {
  Metric metric;
  metric.loss = 0.5;
  metric.accuracy = std::numeric_limits<double>::quiet_NaN();
  metric.named = {{"perplexity", 20}};
  EXPECT_EQ(scalars_of(metric), (Scalars{{"test/loss", 0.5}, {"test/perplexity", 20}}));
}

TEST(Scalars, OfManyWorkersTheExtremesAndTheMean) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    RunFigures now;
    for (int i = 0; i <= static_cast<int>(kMostWorkersApart); ++i) {
      now.workers.emplace(i, WorkerFigures{random.uniform(), random.uniform(), random.uniform()});
    }
    auto few = now;
    few.workers.erase(64);
    const auto scalars = map_of(scalars_of(now, {}));
    EXPECT_FALSE(scalars.contains("compute/worker_0"));
    EXPECT_TRUE(map_of(scalars_of(few, {})).contains("compute/worker_63"));
    for (const std::string section : {"compute", "wait"}) {
      double least = 1;
      double most = 0;
      double sum = 0;
      for (const auto& [id, worker] : now.workers) {
        const double all = worker.compute + worker.communicate + worker.wait;
        const double part = (section == "wait" ? worker.wait : worker.compute) / all;
        least = std::min(least, part);
        most = std::max(most, part);
        sum += part;
      }
      EXPECT_DOUBLE_EQ(scalars.at(section + "/least"), least);
      EXPECT_DOUBLE_EQ(scalars.at(section + "/most"), most);
      EXPECT_DOUBLE_EQ(scalars.at(section + "/mean"), sum / (kMostWorkersApart + 1.0));
    }
  }
}

}  // namespace
}  // namespace motley
