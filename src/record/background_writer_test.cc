#include "record/background_writer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <mutex>

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr Seconds kLong = 20;

// A disk that stalls until it is told to go on, and what was written to it.
class StalledDisk {
 public:
  StalledDisk() { state_->goes_on = go_on_.get_future().share(); }

  BackgroundWriter::Change write(int number) {
    return [disk = state_, number]() -> Status {
      disk->goes_on.wait();
      const std::lock_guard lock(disk->mutex);
      disk->written.push_back(number);
      return {};
    };
  }
  void go_on() { go_on_.set_value(); }
  std::vector<int> written() const {
    const std::lock_guard lock(state_->mutex);
    return state_->written;
  }

 private:
  struct State {
    std::shared_future<void> goes_on;
    std::mutex mutex;
    std::vector<int> written;
  };
  std::promise<void> go_on_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(BackgroundWriter, NobodyWaitsForADiskThatStalls) {
  StalledDisk disk;
  BackgroundWriter writer(BackgroundWriter::WhenFull::kLeaveOut);
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) {
    writer.add("file", disk.write(i));
    expected.push_back(i);
  }
  EXPECT_EQ(disk.written(), std::vector<int>());
  disk.go_on();
  EXPECT_TRUE(writer.finish(kLong));
  EXPECT_TRUE(writer.is_idle());
  EXPECT_EQ(disk.written(), expected);
  EXPECT_EQ(writer.take_problems(), std::vector<std::string>());
}

TEST(BackgroundWriter, ADiskThatDoesNotComeBackDoesNotHoldTheProcess) {
  StalledDisk disk;
  {
    BackgroundWriter writer(BackgroundWriter::WhenFull::kLeaveOut);
    writer.add("file", disk.write(1));
    writer.add("file", disk.write(2));
    EXPECT_FALSE(writer.finish(0.01));
    EXPECT_FALSE(writer.is_idle());
  }
  EXPECT_EQ(disk.written(), std::vector<int>());
  disk.go_on();
}

TEST(BackgroundWriter, LeavesOutWhatDoesNotFit) {
  StalledDisk disk;
  BackgroundWriter writer(BackgroundWriter::WhenFull::kLeaveOut, 3);
  for (int i = 0; i < 100; ++i) {
    writer.add("file", disk.write(i));
  }
  EXPECT_EQ(writer.take_problems(),
            std::vector<std::string>{"file: lines are left out: the disk takes too long"});
  disk.go_on();
  EXPECT_TRUE(writer.finish(kLong));
  const auto written = disk.written();  // perhaps with the one that was already being written
  ASSERT_GE(written.size(), 3U);
  ASSERT_LE(written.size(), 4U);
  EXPECT_EQ((std::vector<int>(written.begin(), written.begin() + 3)), (std::vector<int>{0, 1, 2}));
}

TEST(BackgroundWriter, OrWaitsForRoom) {
  StalledDisk disk;
  BackgroundWriter writer(BackgroundWriter::WhenFull::kWait, 3);
  auto adding = std::async(std::launch::async, [&] {
    for (int i = 0; i < 100; ++i) {
      writer.add("file", disk.write(i));
    }
  });
  EXPECT_EQ(adding.wait_for(10ms), std::future_status::timeout);
  disk.go_on();
  adding.get();
  EXPECT_TRUE(writer.finish(kLong));
  EXPECT_EQ(disk.written().size(), 100U);
  EXPECT_EQ(writer.take_problems(), std::vector<std::string>());
}

TEST(BackgroundWriter, TheFirstFailureOfEachFileIsSaid) {
  BackgroundWriter writer(BackgroundWriter::WhenFull::kLeaveOut);
  int made = 0;
  for (int i = 0; i < 5; ++i) {
    writer.add("one", [&made, i]() -> Status {
      ++made;
      return fail("one: {}", i);
    });
    writer.add("two", []() -> Status { throw std::runtime_error("broken"); });
    writer.add("three", []() -> Status { return {}; });
  }
  EXPECT_TRUE(writer.finish(kLong));
  EXPECT_EQ(writer.take_problems(),
            (std::vector<std::string>{"one: 0", "two: cannot be written: broken"}));
  EXPECT_EQ(writer.take_problems(), std::vector<std::string>());
  EXPECT_EQ(made, 5);
}

}  // namespace
}  // namespace motley
