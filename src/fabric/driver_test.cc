#include "fabric/driver.h"

#include <gtest/gtest.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <new>
#include <vector>

namespace motley {
namespace {

using namespace std::chrono_literals;

// Posts a handler that changes the value that ready() reads; it runs on the driving thread.
void set_by_handler(Driver& driver, int& value, int to) {
  asio::post(driver.io(), [&driver, &value, to] {
    std::lock_guard lock(driver.mutex());
    value = to;
    driver.wake();
  });
}

TEST(Driver, AWaitingThreadDrivesByItself) {
  Driver driver;
  int value = 0;
  std::thread::id handler_thread;
  std::unique_lock lock(driver.mutex());
  // The first wait made this thread the driver, so the next handler runs here.
  set_by_handler(driver, value, 1);
  ASSERT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 1; }));
  asio::post(driver.io(), [&] {
    std::lock_guard inner(driver.mutex());
    handler_thread = std::this_thread::get_id();
    value = 2;
    driver.wake();
  });
  ASSERT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 2; }));
  EXPECT_EQ(handler_thread, std::this_thread::get_id());
}

TEST(Driver, HandlersRunWhenNobodyWaits) {
  Driver driver;
  std::atomic<bool> ran = false;
  asio::post(driver.io(), [&] { ran = true; });
  const auto deadline = Driver::Clock::now() + 10s;
  while (!ran && Driver::Clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(ran);
}

TEST(Driver, WaitGivesUpAtItsDeadline) {
  Driver driver;
  std::unique_lock lock(driver.mutex());
  const auto deadline = Driver::Clock::now() + 5ms;
  EXPECT_FALSE(driver.wait(lock, deadline, [] { return false; }));
  EXPECT_GE(Driver::Clock::now(), deadline);
  EXPECT_FALSE(driver.sleep(lock, Driver::Clock::now() + 5ms, [] { return false; }));
}

TEST(Driver, AReadyThatThrowsLeavesTheDriverUsable) {
  Driver driver;
  int value = 0;
  std::unique_lock lock(driver.mutex());
  EXPECT_THROW(driver.wait(lock, Driver::Clock::now() + 10s,
                           []() -> bool { throw std::runtime_error("no"); }),
               std::runtime_error);
  set_by_handler(driver, value, 1);
  EXPECT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 1; }));
}

// Every thread gets its value, whichever thread drives when its handler is due.
TEST(Driver, ManyThreadsEachSeeTheirOwn) {
  Driver driver;
  constexpr int kThreads = 8;
  constexpr int kRounds = 200;
  std::vector<int> values(kThreads, 0);
  std::vector<std::thread> threads;
  std::atomic<int> finished = 0;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      int& mine = values[static_cast<std::size_t>(t)];
      for (int round = 1; round <= kRounds; ++round) {
        set_by_handler(driver, mine, round);
        std::unique_lock lock(driver.mutex());
        if (!driver.wait(lock, Driver::Clock::now() + 30s, [&] { return mine == round; })) {
          return;
        }
      }
      ++finished;
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(finished, kThreads);
}

// A handler that throws must not keep others from driving.
TEST(Driver, AHandlerThatThrowsIsHeardOfByWhoeverWaits) {
  Driver driver;
  int value = 0;
  std::unique_lock lock(driver.mutex());
  set_by_handler(driver, value, 1);
  ASSERT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 1; }));
  asio::post(driver.io(), [] { throw std::bad_alloc(); });
  EXPECT_THROW(driver.wait(lock, Driver::Clock::now() + 10s, [] { return false; }), std::bad_alloc);
  EXPECT_TRUE(lock.owns_lock());
  set_by_handler(driver, value, 2);
  EXPECT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 2; }));
}

TEST(Driver, AHandlerThatThrowsInTheBackgroundIsHeardOfLater) {
  Driver driver;
  std::atomic<bool> ran = false;
  asio::post(driver.io(), [&] {
    ran = true;
    throw std::bad_alloc();
  });
  const auto deadline = Driver::Clock::now() + 10s;
  while (!ran && Driver::Clock::now() < deadline) {
    std::this_thread::yield();
  }
  int value = 0;
  std::unique_lock lock(driver.mutex());
  EXPECT_THROW(driver.wait(lock, Driver::Clock::now() + 10s, [] { return false; }), std::bad_alloc);
  set_by_handler(driver, value, 1);
  EXPECT_TRUE(driver.wait(lock, Driver::Clock::now() + 10s, [&] { return value == 1; }));
}

}  // namespace
}  // namespace motley
