#include "fabric/driver.h"

#include <pthread.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

namespace motley {
namespace {

using namespace std::chrono_literals;

// The background thread takes over this long after the last thread stopped waiting. A shorter time
// would take the sockets away between two rounds of one exchange.
constexpr auto kGrace = 1ms;
// A thread whose last wait was shorter than this spins for this long in its next wait.
constexpr auto kShortWait = 500us;
constexpr auto kAwake = 100us;
// Maximum time of one call into the kernel; nothing depends on its length.
constexpr auto kPatience = 1s;

// Counts a thread as waiting, also if ready() throws.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  int& count_;
};

}  // namespace

Driver::Driver() : work_(io_.get_executor()), thread_([this] { drive_in_background(); }) {
  pthread_setname_np(thread_.native_handle(), "motley-io");
}

Driver::~Driver() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    background_.notify_all();
  }
  asio::post(io_, [] {});
  thread_.join();
}

// When a thread has what it waited for, it lets the next one drive.
class Driver::HandOver {
 public:
  explicit HandOver(Driver& driver) : driver_(driver), began_(Clock::now()) {}
  ~HandOver() {
    driver_.left_ = Clock::now();
    driver_.waits_are_short_ = driver_.left_ - began_ < kShortWait;
    if (driver_.waiting_ > 0 && driver_.driving_ == Who::kNobody) {
      driver_.changed_.notify_all();
    }
  }
  HandOver(const HandOver&) = delete;
  HandOver& operator=(const HandOver&) = delete;

 private:
  Driver& driver_;
  const Clock::time_point began_;
};

bool Driver::wait(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
                  const std::function<bool()>& ready) {
  HandOver hand_over(*this);
  while (!ready()) {
    rethrow_failure();
    const auto now = Clock::now();
    if (now >= deadline) {
      return false;
    }
    const auto patience = std::min<Clock::duration>(deadline - now, kPatience);
    if (driving_ == Who::kNobody) {
      drive(lock, Who::kWaiter, patience);
    } else {
      Counted counted(waiting_);
      if (driving_ == Who::kBackground) {
        asio::post(io_, [] {});  // it blocks in the kernel: wake it so that it hands over
      }
      changed_.wait_for(lock, patience);
    }
  }
  return true;
}

bool Driver::sleep(std::unique_lock<std::mutex>& lock, Clock::time_point deadline,
                   const std::function<bool()>& ready) {
  Counted counted(sleeping_);
  while (!ready()) {
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      return ready();
    }
  }
  return true;
}

void Driver::wake() {
  if (waiting_ + sleeping_ > 0) {
    changed_.notify_all();
  }
  // If this thread drives, it rechecks after the handler returns. Another driving thread has to be
  // woken from the kernel.
  if (driving_ == Who::kWaiter && driving_thread_ != std::this_thread::get_id()) {
    asio::post(io_, [] {});
  }
}

void Driver::drive(std::unique_lock<std::mutex>& lock, Who who, Clock::duration patience) {
  driving_ = who;
  driving_thread_ = std::this_thread::get_id();
  const bool stay_awake = who == Who::kWaiter && waits_are_short_;
  lock.unlock();
  std::exception_ptr failure;
  try {
    if (!stay_awake || !drive_awake()) {
      io_.run_one_for(patience);
    }
  } catch (...) {  // memory is short: others can still drive, and somebody has to learn of it
    failure = std::current_exception();
  }
  lock.lock();
  driving_ = Who::kNobody;
  if (failure) {
    failure_ = failure_ ? failure_ : failure;
    changed_.notify_all();
  }
}

void Driver::rethrow_failure() {
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

// Polls without sleeping: waking a sleeping core takes longer than most messages travel. Yields, so
// that the sender can run if there are more threads than cores.
bool Driver::drive_awake() {
  const auto end = Clock::now() + kAwake;
  do {
    if (io_.poll_one() > 0) {
      return true;
    }
    std::this_thread::yield();
  } while (Clock::now() < end);
  return false;
}

void Driver::drive_in_background() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool others_turn = driving_ != Who::kNobody || waiting_ > 0;
    if (others_turn || Clock::now() - left_ < kGrace) {
      background_.wait_for(lock, kGrace);
    } else {
      drive(lock, Who::kBackground, kPatience);
      if (waiting_ > 0) {
        changed_.notify_all();
      }
    }
  }
}

}  // namespace motley
