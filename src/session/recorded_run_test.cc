// The files of a run's directory, and what happens if they cannot be written. The runs are made up:
// nothing is trained.
#include "session/recorded_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/scratch_dir.h"
#include "tests/toy_task.h"

namespace motley::recorded_run_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Metric metric_of(std::int64_t step) {
  Metric metric;
  metric.seconds = static_cast<double>(step);
  metric.step = step;
  metric.samples = 30 * step;
  metric.accuracy = 0.5;
  return metric;
}

class RecordedRunTest : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return fs::path(scratch_.file("out")) / name; }

  // A run that does only what `body` does.
  Summary run(const std::function<void(RunMonitor&)>& body) {
    RecordedRun recorded(job_, "train", 300, {.out = scratch_.file("out"), .quiet = true});
    return recorded.run(task_, [&](RunMonitor& monitor) {
      body(monitor);
      return RunOutcome{};
    });
  }

  ScratchDir scratch_;
  Job job_;
  ToyTask task_{300, 50, 1, 0.01};
};

TEST_F(RecordedRunTest, MetricsAreAppended) {
  ino_t first = 0;
  run([&](RunMonitor& monitor) {
    for (std::int64_t step = 1; step <= 100; ++step) {
      monitor.on_metric(metric_of(step));
      struct stat seen {};
      ASSERT_EQ(stat(file("metrics.jsonl").c_str(), &seen), 0);
      first = step == 1 ? seen.st_ino : first;
      ASSERT_EQ(seen.st_ino, first) << "written anew at step " << step;
    }
  });
  std::istringstream lines(contents(file("metrics.jsonl")));
  std::int64_t step = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(nlohmann::json::parse(line)["step"], ++step);
  }
  EXPECT_EQ(step, 100);
}

}  // namespace
}  // namespace motley::recorded_run_test
