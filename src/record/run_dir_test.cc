#include "record/run_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "tests/scratch_dir.h"
#include "tests/short_disk.h"

namespace motley::run_dir_test {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void put(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }

// The number of entries in a directory, including hidden files.
std::size_t count_entries(const fs::path& path) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(path), fs::directory_iterator()));
}

// Every test runs in its own empty directory.
class RunDirTest : public testing::Test {
 protected:
  RunDirTest() : place_(scratch_.path()), before_(fs::current_path()) { fs::current_path(place_); }
  ~RunDirTest() override { fs::current_path(before_); }

 private:
  ScratchDir scratch_;

 protected:
  const fs::path place_;

 private:
  const fs::path before_;
};

TEST_F(RunDirTest, DefaultIsNamedByTimeAndJob) {
  std::tm local{.tm_sec = 5,
                .tm_min = 4,
                .tm_hour = 3,
                .tm_mday = 2,
                .tm_mon = 0,
                .tm_year = 126,
                .tm_wday = 0,
                .tm_yday = 0,
                .tm_isdst = -1,
                .tm_gmtoff = 0,
                .tm_zone = nullptr};
  const std::time_t now = std::mktime(&local);
  EXPECT_EQ(RunDir::create({}, "fashion", Durable::kYes, now)->path(),
            "runs/20260102-030405-fashion");
  EXPECT_EQ(RunDir::create({}, "fashion", Durable::kYes, now)->path(),
            "runs/20260102-030405-fashion-2");
  put("runs/20260102-030405-fashion-3", "a file is in the way");
  EXPECT_EQ(RunDir::create({}, "fashion", Durable::kYes, now)->path(),
            "runs/20260102-030405-fashion-4");
  EXPECT_TRUE(fs::is_directory("runs/20260102-030405-fashion-4"));
}

TEST_F(RunDirTest, DefaultFailsWhenRunsIsAFile) {
  put("runs", "");
  const auto dir = RunDir::create({}, "fashion");
  ASSERT_FALSE(dir);
  EXPECT_NE(dir.error().message.find("cannot be created"), std::string::npos)
      << dir.error().message;
}

TEST_F(RunDirTest, OutIsMadeWithItsParents) {
  const auto dir = RunDir::create("a/b/c", "fashion");
  ASSERT_TRUE(dir);
  EXPECT_EQ(dir->path(), "a/b/c");
  EXPECT_TRUE(fs::is_directory("a/b/c"));
}

TEST_F(RunDirTest, OutLosesTheResultsOfAnEarlierRunAndNothingElse) {
  fs::create_directory("out");
  for (const char* file : {"job.toml", "metrics.jsonl", "summary.json", "model.pt",
                           ".summary.json.tmp", "notes.txt"}) {
    put(fs::path("out") / file, "old");
  }
  ASSERT_TRUE(RunDir::create("out", "fashion"));
  EXPECT_EQ(count_entries("out"), 1U);
  EXPECT_EQ(contents("out/notes.txt"), "old");
}

TEST_F(RunDirTest, OneRunAtATimeUsesADirectory) {
  auto dir = RunDir::create("out", "fashion");
  put("out/summary.json", "of the run that is using it");
  for (const auto& other : {RunDir::create("out", "fashion"), RunDir::reopen("out")}) {
    ASSERT_FALSE(other);
    EXPECT_TRUE(other.error().message.starts_with("out: another run is using this directory"));
  }
  EXPECT_EQ(count_entries("out"), 1U);
  dir->release();
  EXPECT_TRUE(RunDir::create("out", "fashion"));
  EXPECT_TRUE(RunDir::reopen("out"));
}

TEST_F(RunDirTest, OutThatIsNoDirectoryIsRefused) {
  put("file", "precious");
  for (const char* out : {"file", "file/below", ""}) {
    const auto dir = RunDir::create(out, "fashion");
    ASSERT_FALSE(dir) << out;
    EXPECT_TRUE(dir.error().message.starts_with(out)) << dir.error().message;
  }
  EXPECT_EQ(contents("file"), "precious");
}

TEST_F(RunDirTest, OutThatCannotBeWrittenToIsRefused) {
  // Not even root can create files here.
  const auto dir = RunDir::create("/proc/self/fdinfo", "fashion");
  ASSERT_FALSE(dir);
}

TEST_F(RunDirTest, WriteReplacesWhole) {
  const auto dir = RunDir::create("out", "fashion");
  ASSERT_TRUE(dir->write("metrics.jsonl", "a long first version\n"));
  ASSERT_TRUE(dir->write("metrics.jsonl", "short\n"));
  EXPECT_EQ(contents("out/metrics.jsonl"), "short\n");
  EXPECT_EQ(count_entries("out"), 1U);
}

TEST_F(RunDirTest, WriteThatCannotFinishLeavesNoTrace) {
  const auto dir = RunDir::create("out", "fashion");
  fs::create_directory("out/summary.json");  // rename() cannot replace it
  const Status status = dir->write("summary.json", "{}");
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().message.starts_with("out/summary.json: cannot be written: "));
  EXPECT_EQ(count_entries("out"), 1U);
}

TEST_F(RunDirTest, FullDiskKeepsTheOldFile) {
  const auto dir = RunDir::create("out", "fashion");
  ASSERT_TRUE(dir->write("summary.json", "{}"));
  {
    const ShortDisk disk(100);
    EXPECT_FALSE(dir->write("summary.json", std::string(1000, 'x')));
  }
  EXPECT_EQ(contents("out/summary.json"), "{}");
  EXPECT_EQ(count_entries("out"), 1U);
}

TEST_F(RunDirTest, WriteIntoADirectoryThatIsGoneFails) {
  const auto dir = RunDir::create("out", "fashion");
  fs::remove_all("out");
  EXPECT_FALSE(dir->write("summary.json", "{}"));
}

}  // namespace
}  // namespace motley::run_dir_test
