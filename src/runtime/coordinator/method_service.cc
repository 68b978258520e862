#include "runtime/coordinator/method_service.h"

#include <pthread.h>

#include <utility>

#include "motley/base/failure.h"
#include "sync/loop.h"

namespace motley {

MethodService::MethodService(RealNode& node, const Job& job, std::int64_t training_samples,
                             Journal* journal, std::vector<int> machines, const Term& term,
                             KeptState* kept, Dealings* dealings)
    : node_(node),
      job_(job),
      training_samples_(training_samples),
      journal_(journal),
      machines_(std::move(machines)),
      term_(term),
      kept_(kept),
      dealings_(dealings),
      thread_([this] { serve_on(); }) {
  pthread_setname_np(thread_.native_handle(), "service");
}

MethodService::~MethodService() { end(); }

void MethodService::serve_on() {
  const auto body = [this](Node& node) {
    result_ = serve(
        node, job_, training_samples_, [this] { return stopping_.load(); }, journal_, machines_,
        term_, kept_, dealings_);
  };
  try {
    node_.run(body);  // returns if the term is ended
  } catch (const Interrupted&) {
    // The run was stopped.
  } catch (...) {
    error_ = std::current_exception();
  }
  serving_ = false;
}

std::optional<WaitInfo> MethodService::waiting() const {
  return serving_ ? node_.waiting() : std::optional(WaitInfo{node_.counts(), {Channel::kControl}});
}

void MethodService::rethrow_failure() {
  if (serving_ || !error_) {
    return;
  }
  try {
    std::rethrow_exception(error_);
  } catch (const std::exception& error) {
    throw RunFailed(error.what());
  }
}

ServiceResult MethodService::finish() {
  thread_.join();
  rethrow_failure();
  return result_;
}

void MethodService::end() {
  if (thread_.joinable()) {
    node_.end_term("the service was ended");
  }
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace motley
