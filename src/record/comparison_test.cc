#include "record/comparison.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "record/summary.h"

namespace motley {
namespace {

ComparedRun run(std::string name, double seconds, double rate) {
  ComparedRun result;
  result.name = std::move(name);
  result.seconds = seconds;
  result.samples_per_second = rate;
  result.bytes = 2e6;
  return result;
}

ComparedRun run_to_target(std::string name, std::optional<double> time_to_target) {
  ComparedRun result = run(std::move(name), 20, 100);
  result.target = 0.86;
  result.time_to_target = time_to_target;
  return result;
}

TEST(ComparedRun, IsReadFromASummary) {
  Summary summary;
  summary.name = "hop";
  summary.seconds = 4;
  summary.samples = 1000;
  summary.ideal_samples_per_second = 500;
  summary.metrics = {
      {.seconds = 3, .step = 1, .samples = 1, .loss = 1, .accuracy = 0.9, .train_loss = {}}};
  summary.target_accuracy = 0.86;
  summary.workers.resize(2);
  summary.workers[0].wait_seconds = 1;
  summary.workers[0].bytes_sent = 10;
  summary.workers[1].wait_seconds = 3;
  summary.workers[1].bytes_sent = 20;
  const ComparedRun compared = compared_run(to_json(summary));
  EXPECT_EQ(compared.name, "hop");
  EXPECT_EQ(compared.seconds, 4);
  EXPECT_EQ(compared.samples_per_second, 250);
  EXPECT_EQ(compared.efficiency, 0.5);
  EXPECT_EQ(compared.target, 0.86);
  EXPECT_EQ(compared.time_to_target, 3);
  EXPECT_EQ(compared.accuracy, 0.9);
  EXPECT_EQ(compared.bytes, 30);
  EXPECT_EQ(compared.wait_share, 0.5);
  EXPECT_EQ(compared.trouble, std::nullopt);
}

TEST(ComparedRun, ThatWasStoppedDoesNotCount) {
  Summary summary;
  summary.stopped = "SIGINT";
  EXPECT_EQ(compared_run(to_json(summary)).trouble, "stopped by SIGINT");
  summary.stopped = "target";  // it ended early because it reached its target
  EXPECT_EQ(compared_run(to_json(summary)).trouble, std::nullopt);
}

TEST(Comparison, IsATableWithTheBestMarked) {
  const Comparison comparison({run("equal", 20, 100), run("adaptive", 8, 250)});
  EXPECT_EQ(comparison.table(),
            "variant   seconds   samples/s   efficiency   speed-up   accuracy   MB sent   waiting\n"
            "equal       20.00         100            -      1.00x          -       2.0         -\n"
            "adaptive     8.00*        250*           -      2.50x*         -       2.0         -\n"
            "best: adaptive, 250 samples/s, 2.50x as fast as equal\n");
}

TEST(Comparison, WithATargetIsByTheTimeToReachIt) {
  const Comparison comparison(
      {run_to_target("never", {}), run_to_target("late", 12), run_to_target("soon", 4)});
  EXPECT_EQ(comparison.runs()[0].speedup, std::nullopt);
  EXPECT_EQ(comparison.runs()[2].speedup, 3);
  EXPECT_NE(comparison.table().find("best: soon, 0.86 after 4.00 s, 3.00x as fast as late\n"),
            std::string::npos)
      << comparison.table();
  EXPECT_NE(Comparison({run_to_target("never", {})}).table().find("none reached 0.86\n"),
            std::string::npos);
}

TEST(Comparison, AFailedRunShowsItsReasonAndIsNeverTheBest) {
  ComparedRun failed;
  failed.name = "failed";
  failed.trouble = "worker 2 was killed";
  ComparedRun stopped = run("stopped", 1, 1000);
  stopped.trouble = "stopped by SIGINT";
  const Comparison comparison({failed, run("a", 20, 100), stopped, run("b", 10, 200)});
  const std::string table = comparison.table();
  EXPECT_NE(table.find("  worker 2 was killed\n"), std::string::npos) << table;
  EXPECT_NE(table.find("  stopped by SIGINT\n"), std::string::npos) << table;
  EXPECT_NE(table.find("best: b, 200 samples/s, 2.00x as fast as a\n"), std::string::npos) << table;
  EXPECT_EQ(table.find("1000*"), std::string::npos) << table;
}

TEST(Comparison, SaysWhenTheMachineWasTooSmall) {
  ComparedRun late = run("late", 10, 200);
  late.pace_missed = 0.25;
  const std::string table = Comparison({late}).table();
  EXPECT_NE(table.find("  pace missed in 25 % of steps\n"), std::string::npos) << table;
}

TEST(Comparison, NamesNoBestIfAllRunsFailed) {
  ComparedRun failed;
  failed.name = "x";
  failed.trouble = "no";
  EXPECT_EQ(Comparison({failed}).table().find("best"), std::string::npos);
}

}  // namespace
}  // namespace motley
