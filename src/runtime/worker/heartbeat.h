// Heartbeat: a thread that makes a call again and again, whatever other threads are doing.
#pragma once

#include <pthread.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "motley/base/ids.h"

namespace motley {

class Heartbeat {
 public:
  Heartbeat(Seconds interval, std::function<void()> beat)
      : interval_(interval), beat_(std::move(beat)), thread_([this] { go_on(); }) {
    pthread_setname_np(thread_.native_handle(), "heartbeat");
  }
  ~Heartbeat() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

 private:
  void go_on() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      beat_();
      changed_.wait_for(lock, interval_, [&] { return stopping_; });
    }
  }

  const std::chrono::duration<double> interval_;
  const std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace motley
