// Driver: decides which thread runs the socket I/O.
//
// A thread that waits for a message runs the I/O itself, so the message wakes the thread that wants
// it: waking a second thread costs more than moving 100 KB. If no thread waits (all are computing),
// a background thread takes over after a short delay. At most one thread drives at any time, so
// handlers never run concurrently and need no locks among themselves.
//
// mutex() guards the state that ready() reads: the mailbox of a node.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace motley {

class Driver {
 public:
  using Clock = std::chrono::steady_clock;

  Driver();
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  asio::io_context& io() { return io_; }
  std::mutex& mutex() { return mutex_; }

  // Waits until ready() or the deadline, running I/O meanwhile; returns the last ready(). `lock`
  // must hold mutex(), which is also held when ready() is called. ready() may throw. If a handler
  // has thrown since, on whichever thread, its exception is thrown here, once.
  bool wait(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
            const std::function<bool()>& ready);
  // The same without running I/O, accurate to a microsecond: for pacing.
  bool sleep(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
             const std::function<bool()>& ready);
  // Call with mutex() held when something that a ready() reads has changed.
  void wake();

 private:
  void drive_in_background();
  enum class Who { kNobody, kWaiter, kBackground };
  class HandOver;
  // Runs one handler if one is due within `patience`. Releases the lock meanwhile.
  void drive(std::unique_lock<std::mutex>& lock, Who who, Clock::duration patience);
  bool drive_awake();
  void rethrow_failure();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Who driving_ = Who::kNobody;
  std::thread::id driving_thread_;
  int waiting_ = 0;   // threads in changed_ that can drive or that wait for their ready()
  int sleeping_ = 0;  // threads in changed_ that only wait for their ready()
  bool waits_are_short_ = false;
  Clock::time_point left_;  // when a thread last returned from wait()
  bool stopping_ = false;
  std::exception_ptr failure_;  // of a handler
  std::condition_variable background_;
  std::thread thread_;
};

}  // namespace motley
