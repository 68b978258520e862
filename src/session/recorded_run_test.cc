// The files of a run's directory, and what happens if they cannot be written. The runs are made up:
// nothing is trained.
#include "session/recorded_run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/scratch_dir.h"
#include "tests/short_disk.h"
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

// Files are written in the background.
void finish_files(RunMonitor& monitor) { dynamic_cast<Watch&>(monitor).finish_files(); }

class RecordedRunTest : public testing::Test {
 protected:
  fs::path file(const std::string& name) const { return fs::path(scratch_.file("out")) / name; }

  // A run that does only what `body` does.
  Summary run(const std::function<void(RunMonitor&)>& body) {
    RecordedRun recorded(job_, "train", 300, {.out = scratch_.file("out"), .quiet = true});
    recorded.open();
    return recorded.run(task_, [&](RunMonitor& monitor) {
      body(monitor);
      RunOutcome outcome;
      outcome.model.parameters = {1, 2, 3};
      return outcome;
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
      finish_files(monitor);
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

// Opening a pipe that nobody reads takes until somebody does, like a file on a disk that stalls.
TEST_F(RecordedRunTest, ADiskThatStallsDoesNotStopTheRun) {
  std::ifstream pipe;
  run([&](RunMonitor& monitor) {
    ASSERT_EQ(mkfifo(file("metrics.jsonl").c_str(), 0600), 0);
    for (std::int64_t step = 1; step <= 100; ++step) {
      monitor.on_metric(metric_of(step));
      monitor.on_progress({static_cast<double>(step), 30 * step, 9000, {}});
    }
    pipe.open(file("metrics.jsonl"));
  });
  std::int64_t step = 0;
  for (std::string line; std::getline(pipe, line);) {
    EXPECT_EQ(nlohmann::json::parse(line)["step"], ++step);
  }
  EXPECT_EQ(step, 100);
}

// What is printed on stderr while `body` runs.
std::string said(const std::function<void()>& body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST_F(RecordedRunTest, ARecordThatCannotBeWrittenIsWorthOneWarningPerFile) {
  const std::vector<std::string> files = {"metrics.jsonl", "record.json", "report.html",
                                          "trace.json"};
  const std::string words = said([&] {
    run([&](RunMonitor& monitor) {
      for (const std::string& name : files) {
        fs::create_directories(file(name));
      }
      for (std::int64_t step = 1; step <= 5; ++step) {
        monitor.on_metric(metric_of(step));
      }
    });
  });
  std::string expected;
  for (const std::string& name : files) {
    expected += "motley: warning: " + file(name).string() + ": cannot be written: Is a directory\n";
  }
  EXPECT_EQ(words, expected);
  EXPECT_TRUE(fs::exists(file("summary.json")));
  EXPECT_TRUE(fs::exists(file("model.pt")));
}

TEST_F(RecordedRunTest, AFullDiskDuringTheRunIsWorthOneWarningPerFile) {
  constexpr int kShort = 2000;  // TensorBoard's file is longer; the captured stderr is not
  const std::string words = said([&] {
    run([&](RunMonitor& monitor) {
      fs::create_symlink("/dev/full", file("metrics.jsonl"));
      monitor.on_metric(metric_of(1));
      finish_files(monitor);
      const ShortDisk disk(kShort);
      for (std::int64_t step = 2; step <= kShort / 10; ++step) {
        monitor.on_metric(metric_of(step));
      }
      finish_files(monitor);
    });
  });
  EXPECT_TRUE(words.starts_with("motley: warning: " + file("metrics.jsonl").string() +
                                ": cannot be written: No space left on device\n"
                                "motley: warning: " +
                                file("events.out.tfevents.").string()))
      << words;
  EXPECT_EQ(std::ranges::count(words, '\n'), 2) << words;
  EXPECT_TRUE(fs::exists(file("summary.json")));
  EXPECT_TRUE(fs::exists(file("report.html")));
}

TEST_F(RecordedRunTest, ARunWithoutItsModelOrSummaryHasFailed) {
  for (const std::string name : {"model.pt", "summary.json"}) {
    try {
      run([&](RunMonitor&) { fs::create_directories(file(name)); });
      FAIL() << name;
    } catch (const RunFailed& failure) {
      EXPECT_EQ(failure.what(), file(name).string() + ": cannot be written: Is a directory");
    }
    EXPECT_TRUE(fs::exists(file("report.html")));
  }
}

// What a state must have.
struct MadeUpPosition {
  int term = 1;
  std::int64_t samples = 0;
  Seconds seconds = 1;

  void state(Archive& archive) {
    archive("term", term);
    archive("samples", samples);
    archive("seconds", seconds);
  }
};

State state_after(std::int64_t samples) {
  MadeUpPosition position{.samples = samples};
  State state;
  state.put("run", state_of(position));
  return state;
}

// Otherwise a run that is killed between the two could neither go on nor make its results.
TEST_F(RecordedRunTest, ACompleteRunHasItsResultsBeforeItsLastCheckpoint) {
  job_.train.batch = 30;
  job_.train.steps = 10;
  const auto body = [](RunMonitor& monitor) {
    monitor.on_checkpoint(150, state_after(150));
    monitor.on_checkpoint(300, state_after(300));
  };
  EXPECT_THROW(run([&](RunMonitor& monitor) {
                 fs::create_directories(file("summary.json"));
                 body(monitor);
               }),
               RunFailed);
  EXPECT_TRUE(fs::exists(file("checkpoints/5")));
  EXPECT_FALSE(fs::exists(file("checkpoints/10")));
  fs::remove(file("summary.json"));
  EXPECT_EQ(run(body).checkpoints, 2);
  EXPECT_TRUE(fs::exists(file("checkpoints/10")));
}

TEST_F(RecordedRunTest, AFailedRunLeavesItsLastModel) {
  job_.train.batch = 64;
  const Snapshot last{{4, 5, 6}, {}};
  const std::string words = said([&] {
    EXPECT_THROW(run([&](RunMonitor& monitor) {
                   monitor.on_last_model(640, last);
                   throw RunFailed("worker 1 is lost");
                 }),
                 RunFailed);
  });
  EXPECT_EQ(words, "motley: the model of step 10 is in " + file("model.pt").string() + "\n");
  EXPECT_EQ(contents(file("model.pt")), task_.model_file(last));
  EXPECT_FALSE(fs::exists(file("summary.json")));
  EXPECT_TRUE(fs::exists(file("report.html")));
}

TEST_F(RecordedRunTest, ARunThatFailsEarlyHasNoModelToLeave) {
  EXPECT_EQ(said([&] {
              EXPECT_THROW(run([](RunMonitor&) { throw RunFailed("nobody came"); }), RunFailed);
            }),
            "");
  EXPECT_FALSE(fs::exists(file("model.pt")));
}

TEST_F(RecordedRunTest, TroubleWithTheLastModelDoesNotHideTheFailure) {
  const std::string words = said([&] {
    try {
      run([&](RunMonitor& monitor) {
        fs::create_directories(file("model.pt"));
        monitor.on_last_model(640, {{1}, {}});
        throw RunFailed("worker 1 is lost");
      });
      FAIL();
    } catch (const RunFailed& failure) {
      EXPECT_STREQ(failure.what(), "worker 1 is lost");
    }
  });
  EXPECT_EQ(words, "motley: warning: " + file("model.pt").string() +
                       ": cannot be written: Is a directory\n");
}

}  // namespace
}  // namespace motley::recorded_run_test
