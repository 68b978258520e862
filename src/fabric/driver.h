// Driver: who turns the crank of the sockets.
//
// A thread that waits for a message drives the sockets itself, so that the message wakes the very
// thread that wants it: waking a second thread costs more than moving 100 KB. Only when nobody
// waits (all are computing) a background thread takes over, after a short grace. At any moment one
// thread at most drives, so handlers never run at the same time and need no locks among themselves.
//
// mutex() guards whatever ready() looks at: the mailbox of a node.
#pragma once

#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <chrono>
#include <condition_variable>
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

  // Waits until ready() or the deadline, driving the sockets meanwhile; returns the last ready().
  // `lock` holds mutex(), here and whenever ready() is called. ready() may throw.
  bool wait(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
            const std::function<bool()>& ready);
  // The same without driving, to the microsecond: for sleeping out a pace.
  bool sleep(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
             const std::function<bool()>& ready);
  // Something that a ready() looks at has changed. Call with mutex() held.
  void wake();

 private:
  void drive_in_background();
  enum class Who { kNobody, kWaiter, kBackground };
  class HandOver;
  // Runs one handler, if one comes within `patience`. The lock is released meanwhile.
  void drive(std::unique_lock<std::mutex>& lock, Who who, Clock::duration patience);
  bool drive_awake();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Who driving_ = Who::kNobody;
  std::thread::id driving_thread_;
  int waiting_ = 0;   // threads in changed_ that would like to drive or to see their ready()
  int sleeping_ = 0;  // threads in changed_ that only want to see their ready()
  bool waits_are_short_ = false;
  Clock::time_point left_;  // when a thread last ended its wait()
  bool stopping_ = false;
  std::condition_variable background_;
  std::thread thread_;
};

}  // namespace motley
