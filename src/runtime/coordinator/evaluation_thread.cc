#include "runtime/coordinator/evaluation_thread.h"

#include <pthread.h>
#include <sys/resource.h>

namespace motley {
namespace {

// Evaluation must not slow down workers on the same machine.
constexpr int kNice = 10;

}  // namespace

EvaluationThread::EvaluationThread(Task& task) : task_(task), thread_([this] { work(); }) {
  pthread_setname_np(thread_.native_handle(), "motley-eval");
}

EvaluationThread::~EvaluationThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void EvaluationThread::add(SnapshotInfo snapshot) {
  std::lock_guard lock(mutex_);
  newest_ = std::make_shared<const SnapshotInfo>(std::move(snapshot));
  waiting_.push_back(newest_);
  ++added_;
  changed_.notify_all();
}

std::optional<EvaluatedSnapshot> EvaluationThread::take() {
  std::lock_guard lock(mutex_);
  if (error_) {
    std::rethrow_exception(error_);
  }
  if (evaluated_.empty()) {
    return std::nullopt;
  }
  const EvaluatedSnapshot first = evaluated_.front();
  evaluated_.pop_front();
  return first;
}

bool EvaluationThread::idle() {
  std::lock_guard lock(mutex_);
  return (waiting_.empty() && !working_) || error_;
}

std::int64_t EvaluationThread::added() {
  std::lock_guard lock(mutex_);
  return added_;
}

std::int64_t EvaluationThread::settled() {
  std::lock_guard lock(mutex_);
  return finished_ - static_cast<std::int64_t>(evaluated_.size());
}

std::shared_ptr<const SnapshotInfo> EvaluationThread::newest() {
  std::lock_guard lock(mutex_);
  return newest_;
}

Seconds EvaluationThread::now() const {
  return std::chrono::duration<double>(Driver::Clock::now() - began_).count();
}

void EvaluationThread::work() {
  setpriority(PRIO_PROCESS, 0, kNice);  // on Linux, affects only this thread
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) {
      return;
    }
    const std::shared_ptr<const SnapshotInfo> next = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    lock.unlock();
    const Seconds began = now();
    std::optional<Evaluation> evaluation;
    std::exception_ptr error;
    try {
      evaluation = task_.evaluate(next->snapshot);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    working_ = false;
    ++finished_;
    error_ = error_ ? error_ : error;
    if (evaluation) {
      evaluated_.push_back({next->note, *evaluation, {began, now(), 0, 0, Doing::kEvaluate}});
    }
  }
}

}  // namespace motley
