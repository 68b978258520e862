#include "session/host.h"

#include <utility>

#include "session/run_address.h"

namespace motley {

class Host::ProgramTask final : public Task {
 public:
  ProgramTask(std::int64_t samples, EvaluateFunction evaluate)
      : samples_(samples), evaluate_(std::move(evaluate)) {}

  std::int64_t training_samples() const override { return samples_; }
  std::unique_ptr<Replica> make_replica() override { return nullptr; }  // never called
  std::string model_file(const Snapshot&) override { return {}; }       // the program saves its own

  // Called on the evaluation thread: blocks until the program's thread has evaluated the model.
  std::optional<Evaluation> evaluate(const Snapshot& snapshot) override {
    if (!evaluate_) {
      return std::nullopt;
    }
    std::unique_lock lock(mutex_);
    asked_ = &snapshot;
    answer_.reset();
    changed_.notify_all();
    changed_.wait(lock, [&] { return answer_ || closed_; });
    asked_ = nullptr;
    return std::exchange(answer_, std::nullopt);
  }

  // Called on the program's thread.
  void evaluate_waiting() {
    std::unique_lock lock(mutex_);
    evaluate(lock);
  }
  void evaluate_until_over() {
    std::unique_lock lock(mutex_);
    while (!over_) {
      evaluate(lock);
      changed_.wait(lock, [&] { return is_asked() || over_; });
    }
  }

  // The run is over: no more evaluations will be requested.
  void end() {
    std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  // No more evaluations will be done: makes a blocked evaluate() return.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

 private:
  void evaluate(std::unique_lock<std::mutex>& lock) {
    if (is_asked()) {
      const Snapshot& snapshot = *asked_;
      lock.unlock();  // safe: the thread in evaluate() only waits
      const Evaluation evaluation = evaluate_(snapshot);
      lock.lock();
      answer_ = evaluation;
      changed_.notify_all();
    }
  }

  bool is_asked() const { return asked_ && !answer_; }  // evaluate() resets both together

  const std::int64_t samples_;
  const EvaluateFunction evaluate_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const Snapshot* asked_ = nullptr;
  std::optional<Evaluation> answer_;
  bool over_ = false;
  bool closed_ = false;
};

Host::Host(const Job& job, std::int64_t training_samples, EvaluateFunction evaluate, RunView view,
           Gathering gathering)
    : evaluating_(std::make_unique<ProgramTask>(training_samples, std::move(evaluate))),
      recorded_(job, "train", training_samples, std::move(view)),
      coordinator_(job, *evaluating_, recorded_.monitor(), std::move(gathering)) {
  recorded_.open();
  thread_ = std::thread([this] { conduct(); });
}

Host::~Host() { give_up(); }

Admission Host::admission(Rank rank) const {
  Admission admission = coordinator_.admission_of_host();
  admission.rank = rank;
  return admission;
}

void Host::conduct() {
  try {
    summary_ = recorded_.run(*evaluating_, [&](RunMonitor&) {
      const AddressFile address(recorded_.dir(), address_of(coordinator_));
      return coordinator_.run();
    });
  } catch (...) {
    error_ = std::current_exception();
  }
  evaluating_->end();
}

void Host::evaluate_waiting() { evaluating_->evaluate_waiting(); }

Summary Host::finish() {
  evaluating_->evaluate_until_over();
  thread_.join();
  if (error_) {
    std::rethrow_exception(error_);
  }
  return *std::exchange(summary_, std::nullopt);
}

void Host::give_up() {
  evaluating_->close();
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace motley
