#include "runtime/coordinator/evaluation_thread.h"

#include <pthread.h>
#include <sys/resource.h>

namespace motley {
namespace {

// Evaluation must not take the processor from workers on the same machine.
constexpr int kNice = 10;

}  // namespace

EvaluationThread::EvaluationThread(Evaluator judge)
    : evaluator_(judge), thread_([this] { work(); }) {
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
  waiting_.push_back(std::move(snapshot));
  changed_.notify_all();
}

std::optional<TimedMetric> EvaluationThread::take() {
  std::lock_guard lock(mutex_);
  if (error_) {
    std::rethrow_exception(error_);
  }
  if (evaluated_kind_.empty()) {
    return std::nullopt;
  }
  TimedMetric judgement = evaluated_kind_.front();
  evaluated_kind_.pop_front();
  return judgement;
}

bool EvaluationThread::idle() {
  std::lock_guard lock(mutex_);
  return (waiting_.empty() && !working_) || error_;
}

bool EvaluationThread::target_reached() {
  std::lock_guard lock(mutex_);
  return target_reached_;
}

Seconds EvaluationThread::now() const {
  return std::chrono::duration<double>(Driver::Clock::now() - began_).count();
}

void EvaluationThread::work() {
  setpriority(PRIO_PROCESS, 0, kNice);  // of this thread alone, on Linux
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) {
      return;
    }
    const SnapshotInfo next = std::move(waiting_.front());
    waiting_.pop_front();
    working_ = true;
    lock.unlock();
    const Seconds began = now();
    std::optional<Metric> metric;
    std::exception_ptr error;
    try {
      metric = evaluator_.evaluate(next.note, next.snapshot);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    working_ = false;
    error_ = error_ ? error_ : error;
    target_reached_ = evaluator_.target_reached();
    if (metric) {
      evaluated_kind_.push_back({*metric, {began, now(), metric->step, 0, Doing::kEvaluate}});
    }
  }
}

}  // namespace motley
