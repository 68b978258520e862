#include "runtime/coordinator/method_service.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "motley/base/failure.h"
#include "node/forwarding_node.h"
#include "sync/loop.h"

namespace motley {

// Blocks only for short slices, so that the service can be ended without ending the Node.
class MethodService::EndableNode final : public ForwardingNode {
 public:
  EndableNode(Node& node, const std::atomic<bool>& ending)
      : ForwardingNode(node), ending_(ending) {}

  std::optional<Message> receive_until(Match match, Seconds deadline) override {
    while (true) {
      throw_if_ending();
      const Seconds until = std::min(deadline, now() + kSlice);
      auto message = ForwardingNode::receive_until(match, until);
      if (message || until == deadline) {
        return message;
      }
    }
  }

  void sleep(Seconds duration) override {
    const Seconds end = now() + duration;
    while (now() < end) {
      throw_if_ending();
      ForwardingNode::sleep(std::min(end - now(), kSlice));
    }
  }

 private:
  void throw_if_ending() const {
    if (ending_) {
      throw Interrupted(kAnyRank, "the service was ended");
    }
  }

  const std::atomic<bool>& ending_;
};

MethodService::MethodService(Node& node, const Job& job, std::int64_t training_samples,
                             Journal* journal, std::vector<int> machines)
    : job_(job),
      training_samples_(training_samples),
      journal_(journal),
      machines_(std::move(machines)),
      thread_([this, &node] { serve_on(node); }) {
  pthread_setname_np(thread_.native_handle(), "service");
}

MethodService::~MethodService() { end(); }

void MethodService::serve_on(Node& node) {
  EndableNode endable(node, ending_);
  try {
    result_ = serve(
        endable, job_, training_samples_, [this] { return stopping_.load(); }, journal_, machines_);
  } catch (const Interrupted&) {
    // The service was ended, or a worker is lost: its exit status or a timeout gives the reason.
  } catch (...) {
    error_ = std::current_exception();
  }
  serving_ = false;
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
  ending_ = true;
  if (thread_.joinable()) {
    thread_.join();
  }
}

}  // namespace motley
