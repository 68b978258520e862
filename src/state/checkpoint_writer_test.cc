#include "state/checkpoint_writer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "state/memory_files.h"
#include "state/sample_checkpoint.h"

namespace motley {
namespace {

const std::filesystem::path kWritten = "/run/checkpoints";
using Lines = std::vector<std::string>;

// Holds the disk at the beginning of a write.
class SlowDisk {
 public:
  void hold() {
    const std::lock_guard lock(mutex_);
    is_held_ = true;
    is_reached_ = false;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    is_held_ = false;
    changed_.notify_all();
  }
  void wait_until_reached() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return is_reached_; });
  }
  void pass() {
    std::unique_lock lock(mutex_);
    is_reached_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !is_held_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_held_ = false;
  bool is_reached_ = false;
};

class CheckpointWriterTest : public testing::Test {
 protected:
  CheckpointWriterTest() {
    files_.set_fault([this](std::string_view call) {
      disk_.pass();
      const bool fails = is_full_ && (call == "write" || call == "make_directory");
      const bool keeps = is_sticky_ && call == "remove";
      return fails   ? std::make_error_code(std::errc::no_space_on_device)
             : keeps ? std::make_error_code(std::errc::permission_denied)
                     : std::error_code{};
    });
  }

  CheckpointNews write_and_finish(CheckpointWriter& writer, std::int64_t step) {
    writer.write(sample_checkpoint(step));
    writer.finish();
    return writer.take_news();
  }
  Checkpoint newest() { return CheckpointStore(files_, kWritten).newest()->checkpoint; }

  MemoryFiles files_;
  SlowDisk disk_;
  std::atomic<bool> is_full_ = false;
  std::atomic<bool> is_sticky_ = false;
};

TEST_F(CheckpointWriterTest, WritesAndKeeps) {
  CheckpointWriter writer(CheckpointStore(files_, kWritten), 1);
  for (const std::int64_t step : {100, 200, 300}) {
    const CheckpointNews news = write_and_finish(writer, step);
    EXPECT_EQ(news.written, std::vector<std::int64_t>{step});
    EXPECT_EQ(news.problems, Lines{});
  }
  EXPECT_EQ(newest(), sample_checkpoint(300));
  EXPECT_EQ(files_.list(kWritten)->size(), 2U);  // 100 is the best
  EXPECT_TRUE(writer.take_news().written.empty());
}

TEST_F(CheckpointWriterTest, TheDestructorWritesWhatWaits) {
  {
    CheckpointWriter writer(CheckpointStore(files_, kWritten), 3);
    writer.write(sample_checkpoint(100));
  }
  EXPECT_EQ(newest(), sample_checkpoint(100));
}

TEST_F(CheckpointWriterTest, TheNewestReplacesTheOneThatWaits) {
  CheckpointWriter writer(CheckpointStore(files_, kWritten), 3);
  for (const std::int64_t first : {100, 1100}) {  // said again, because the disk caught up
    disk_.hold();
    writer.write(sample_checkpoint(first));
    disk_.wait_until_reached();
    for (int i = 1; i <= 3; ++i) {
      writer.write(sample_checkpoint(first + i));
    }
    const std::string line = fmt::format(
        "the checkpoint of step {} is left out: the one before it is still being written",
        first + 1);
    EXPECT_EQ(writer.take_news().problems, Lines{line});
    disk_.release();
    writer.finish();
    EXPECT_EQ(writer.take_news().written, (std::vector<std::int64_t>{first, first + 3}));
    EXPECT_EQ(newest(), sample_checkpoint(first + 3));
  }
}

TEST_F(CheckpointWriterTest, AFullDiskIsSaidOnceAndTheLastGoodOneStays) {
  CheckpointWriter writer(CheckpointStore(files_, kWritten), 1);
  EXPECT_EQ(write_and_finish(writer, 100).written.size(), 1U);
  for (const std::int64_t first : {200, 500}) {
    is_full_ = true;
    EXPECT_EQ(write_and_finish(writer, first).problems,
              Lines{"/run/checkpoints: cannot be written: No space left on device"});
    for (const std::int64_t step : {first + 1, first + 2}) {
      const CheckpointNews news = write_and_finish(writer, step);
      EXPECT_TRUE(news.problems.empty() && news.written.empty());
    }
    EXPECT_LT(newest().step, first);
    is_full_ = false;
    EXPECT_EQ(write_and_finish(writer, first + 3).written.size(), 1U);
    EXPECT_EQ(newest(), sample_checkpoint(first + 3));
  }
}

TEST_F(CheckpointWriterTest, OldOnesThatCannotBeRemovedAreSaidOnce) {
  CheckpointWriter writer(CheckpointStore(files_, kWritten), 1);
  write_and_finish(writer, 200);
  is_sticky_ = true;
  const CheckpointNews news = write_and_finish(writer, 400);  // the best: 200 goes
  EXPECT_EQ(news.written.size(), 1U);
  EXPECT_EQ(news.problems,
            Lines{"/run/checkpoints/.200.gone: cannot be removed: Permission denied"});
  const CheckpointNews later = write_and_finish(writer, 500);
  EXPECT_EQ(later.written.size(), 1U);
  EXPECT_EQ(later.problems, Lines{});
  is_sticky_ = false;
  write_and_finish(writer, 600);
  EXPECT_EQ(files_.list(kWritten)->size(), 2U);
}

}  // namespace
}  // namespace motley
