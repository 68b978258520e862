#include "runtime/run/state_sender.h"

#include <pthread.h>

#include <chrono>
#include <utility>

#include "runtime/run/state_stream.h"

namespace motley {

void StateSender::stop() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

void StateSender::send(Rank to, std::int64_t number, std::shared_ptr<const State> state) {
  std::lock_guard lock(mutex_);
  if (ending_) {
    return;
  }
  waiting_.push_back({to, number, std::move(state)});
  if (!thread_.joinable()) {
    thread_ = std::thread([this] {
      try {
        work();
      } catch (...) {
        failed_(std::current_exception());
      }
    });
    pthread_setname_np(thread_.native_handle(), "state");
  }
  changed_.notify_all();
}

// A peer may acknowledge more than it was sent: that is its mistake and has no effect.
void StateSender::acknowledge(Rank from) {
  std::lock_guard lock(mutex_);
  if (const auto found = under_way_.find(from); found != under_way_.end() && --found->second == 0) {
    under_way_.erase(found);
  }
  ++acknowledged_;
  changed_.notify_all();
}

void StateSender::drop(Rank to) {
  std::lock_guard lock(mutex_);
  dropped_.insert(to);
  under_way_.erase(to);
  std::erase_if(waiting_, [&](const Item& item) { return item.to == to; });
  changed_.notify_all();
}

bool StateSender::is_idle() const { return waiting_.empty() && !sending_ && under_way_.empty(); }

bool StateSender::idle() {
  std::lock_guard lock(mutex_);
  return is_idle();
}

void StateSender::finish(Seconds patience) {
  std::unique_lock lock(mutex_);
  std::int64_t before = -1;
  while (!is_idle() && std::exchange(before, acknowledged_) != acknowledged_) {
    changed_.wait_for(lock, std::chrono::duration<double>(patience),
                      [&] { return is_idle() || acknowledged_ != before; });
  }
}

void StateSender::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
    if (ending_) {
      return;
    }
    const Item item = std::move(waiting_.front());
    waiting_.pop_front();
    sending_ = true;
    lock.unlock();
    const bool goes_on = send_one(item);
    lock.lock();
    sending_ = false;
    changed_.notify_all();
    if (!goes_on) {
      return;
    }
  }
}

std::int64_t StateSender::chunks_under_way(Rank to) const {
  const auto found = under_way_.find(to);
  return found == under_way_.end() ? 0 : found->second;
}

bool StateSender::send_one(const Item& item) {
  OutgoingState out(item.state);
  while (auto chunk = out.next()) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return ending_ || dropped_.contains(item.to) || chunks_under_way(item.to) < kWindow;
      });
      if (ending_) {
        return false;
      }
      if (dropped_.contains(item.to)) {
        return true;
      }
      ++under_way_[item.to];
    }
    send_(item.to, item.number, std::move(*chunk));
  }
  return true;
}

}  // namespace motley
