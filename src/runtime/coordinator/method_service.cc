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
  explicit EndableNode(MethodService& service) : ForwardingNode(service.node_), service_(service) {}

  std::optional<Message> receive_until(Match match, Seconds deadline) override {
    while (true) {
      throw_if_ending();
      const WaitInfo wait{service_.node_.counts(), match};  // before looking for a message
      const Seconds until = std::min(deadline, now() + kSlice);
      auto message = ForwardingNode::receive_until(match, until);
      if (message || until == deadline) {
        return message;
      }
      if (deadline >= kForever) {
        service_.waits(wait);
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

  void spawn(std::string name, std::function<void(Node&)> body) override {
    service_.has_spawned_ = true;
    ForwardingNode::spawn(std::move(name), std::move(body));
  }

 private:
  void throw_if_ending() const {
    if (service_.ending_) {
      throw Interrupted(kAnyRank, "the service was ended");
    }
  }

  MethodService& service_;
};

MethodService::MethodService(RealNode& node, const Job& job, std::int64_t training_samples,
                             Journal* journal, std::vector<int> machines)
    : node_(node),
      job_(job),
      training_samples_(training_samples),
      journal_(journal),
      machines_(std::move(machines)),
      thread_([this] { serve_on(); }) {
  pthread_setname_np(thread_.native_handle(), "service");
}

MethodService::~MethodService() { end(); }

void MethodService::serve_on() {
  EndableNode endable(*this);
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

void MethodService::waits(const WaitInfo& wait) {
  std::lock_guard lock(wait_mutex_);
  wait_ = wait;
}

std::optional<WaitInfo> MethodService::waiting() const {
  const bool serving = serving_;
  const MessageCounts counts = node_.counts();
  if (has_spawned_) {
    return std::nullopt;
  }
  if (!serving) {
    return WaitInfo{counts, {Channel::kControl}};
  }
  std::lock_guard lock(wait_mutex_);
  // If nothing has arrived since, it cannot have received anything either.
  return wait_ && wait_->counts == counts ? wait_ : std::nullopt;
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
