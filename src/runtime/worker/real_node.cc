#include "runtime/worker/real_node.h"

#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "fabric/frame.h"

namespace motley {
namespace {

using std::chrono::duration;
using std::chrono::duration_cast;

// Stands for "forever": later than any run ends, and it fits into a clock.
constexpr Seconds kFarAway = 1e8;

}  // namespace

// Keeps a waiter in the list, also if the wait ends with an exception. The driver's mutex is held.
class RealNode::Enlisted {
 public:
  Enlisted(std::vector<const Waiter*>* waiters, const Waiter& self)
      : waiters_(waiters), self_(self) {
    if (waiters_) {
      waiters_->push_back(&self_);
    }
  }
  ~Enlisted() {
    if (waiters_) {
      std::erase(*waiters_, &self_);
    }
  }
  Enlisted(const Enlisted&) = delete;
  Enlisted& operator=(const Enlisted&) = delete;

 private:
  std::vector<const Waiter*>* const waiters_;  // null if the wait has a deadline
  const Waiter& self_;
};

RealNode::RealNode(Driver& driver, Rank process, int size)
    : driver_(driver),
      process_(process),
      rank_(process),
      size_(size),
      began_(Driver::Clock::now()) {}

RealNode::~RealNode() {
  stop("the node was destroyed");
  for (auto& activity : activities_) {
    activity.join();
  }
}

void RealNode::run(const std::function<void(Node&)>& body) {
  guarded(body);
  std::unique_lock lock(driver_.mutex());
  --running_;
  while (!activities_.empty()) {
    auto threads = std::exchange(activities_, {});  // they may spawn more
    lock.unlock();
    for (auto& thread : threads) {
      thread.join();
    }
    lock.lock();
  }
  ++running_;
  if (first_error_) {
    std::rethrow_exception(first_error_);
  }
}

void RealNode::stop(const std::string& reason) {
  std::lock_guard lock(driver_.mutex());
  mailbox_.stop(reason);
  driver_.wake();
}

void RealNode::end_term(const std::string& reason) {
  std::lock_guard lock(driver_.mutex());
  mailbox_.end_term(reason);
  driver_.wake();
}

void RealNode::begin_term(std::optional<std::uint16_t> number) {
  begin_term(number, std::vector<Rank>());
}

void RealNode::begin_term(std::uint16_t number, TermPlaces places) {
  size_ = places.workers;
  if (process_ >= 0) {
    const auto found = std::ranges::find(places.processes, process_);
    MOTLEY_CHECK(found != places.processes.end(), "process {} is not in its term", process_);
    rank_ = static_cast<Rank>(found - places.processes.begin());
  }
  begin_term(number, std::move(places.processes));
}

void RealNode::begin_term(std::optional<std::uint16_t> number, std::vector<Rank> processes) {
  std::lock_guard lock(driver_.mutex());
  MOTLEY_CHECK(activities_.empty(), "a term begins while {} activities of the last one are there",
               activities_.size());
  mailbox_.begin_term(number, std::move(processes));
  term_ = mailbox_.term();
  sent_ = 0;
}

bool RealNode::term_ended() const {
  std::lock_guard lock(driver_.mutex());
  return mailbox_.term_ended() && !mailbox_.run_stopped();
}

Seconds RealNode::now() const {
  return duration<double>(Driver::Clock::now() - began_.load()).count();
}

Driver::Clock::time_point RealNode::moment(Seconds at) const {
  const duration<double> offset(std::clamp(at, -kFarAway, kFarAway));
  return began_.load() + duration_cast<Driver::Clock::duration>(offset);
}

MessageCounts RealNode::counts() const {
  std::lock_guard lock(driver_.mutex());
  return {sent_, mailbox_.arrived_in_term()};
}

std::optional<WaitInfo> RealNode::waiting() const {
  std::lock_guard lock(driver_.mutex());
  const bool all_wait = !waiters_.empty() && waiters_.size() == running_;
  const std::uint64_t arrived = mailbox_.arrived_in_term();
  const bool seen =
      std::ranges::all_of(waiters_, [&](const Waiter* waiter) { return waiter->seen == arrived; });
  return all_wait && seen ? std::optional(WaitInfo{{sent_, arrived}, waiters_.front()->match})
                          : std::nullopt;
}

void RealNode::send(Rank to, Channel channel, Header header, Payload payload) {
  sent_ += channel != Channel::kControl ? 1 : 0;
  if (to == rank_) {
    on_message({process_, channel, header, payload.kept(), now(), term_});
    return;
  }
  // The places of a term do not change while an activity runs, so this needs no lock.
  fabric_->send(mailbox_.process_of(to),
                {process_, channel, header, std::move(payload), now(), term_});
}

std::optional<Message> RealNode::receive_until(Match match, Seconds deadline) {
  std::optional<Message> message;
  Waiter waiter{match};
  std::unique_lock lock(driver_.mutex());
  const Enlisted enlisted(deadline >= kForever ? &waiters_ : nullptr, waiter);
  driver_.wait(lock, moment(deadline), [&] {
    message = mailbox_.take(match);
    waiter.seen = mailbox_.arrived_in_term();
    return message.has_value();
  });
  return message;
}

void RealNode::forget(Rank peer) {
  std::lock_guard lock(driver_.mutex());
  mailbox_.forget(peer);
}

void RealNode::busy(Seconds cost, const std::function<void()>& body) {
  const auto began = Driver::Clock::now();
  body();
  last(began, cost);
}

// Not owed to the pacer: the cost of a step covers computing, and this comes on top of it.
void RealNode::process(std::size_t, const std::function<void()>& body) { body(); }

void RealNode::make_last(Seconds began, Seconds cost) { last(moment(began), cost); }

void RealNode::last(Driver::Clock::time_point began, Seconds cost) {
  if (!paced_) {
    return;
  }
  const auto seconds_since = [](Driver::Clock::time_point moment) {
    return duration<double>(Driver::Clock::now() - moment).count();
  };
  std::unique_lock lock(driver_.mutex());
  if (cost <= 0) {
    return pacer_.owe(seconds_since(began));
  }
  const duration<double> rest(pacer_.rest(cost, seconds_since(began)));
  if (rest.count() <= 0) {
    return mailbox_.throw_if_over();
  }
  const auto until = Driver::Clock::now() + duration_cast<Driver::Clock::duration>(rest);
  sleep_until(lock, until);
  pacer_.owe(std::max(0.0, seconds_since(until)));
}

Pace RealNode::pace() const {
  std::lock_guard lock(driver_.mutex());
  return pacer_.pace();
}

void RealNode::sleep(Seconds duration) {
  std::unique_lock lock(driver_.mutex());
  sleep_until(lock, moment(now() + duration));
}

void RealNode::sleep_until(std::unique_lock<std::mutex>& lock, Driver::Clock::time_point moment) {
  driver_.sleep(lock, moment, [&] { return mailbox_.over(); });
  mailbox_.throw_if_over();
}

void RealNode::spawn(std::string name, std::function<void(Node&)> body) {
  std::lock_guard lock(driver_.mutex());
  ++running_;
  std::thread thread([this, body = std::move(body)] {
    guarded(body);
    std::lock_guard returned(driver_.mutex());
    --running_;
  });
  pthread_setname_np(thread.native_handle(), name.substr(0, 15).c_str());
  activities_.push_back(std::move(thread));
}

void RealNode::on_message(Message message) {
  message.sent = whole_moment(message.sent, now());
  std::lock_guard lock(driver_.mutex());
  mailbox_.put(std::move(message));
  driver_.wake();
}

void RealNode::on_peer_lost(Rank peer, const std::string& reason) {
  std::lock_guard lock(driver_.mutex());
  mailbox_.lose(peer, reason);
  driver_.wake();
}

void RealNode::guarded(const std::function<void(Node&)>& body) {
  try {
    body(*this);
  } catch (const Interrupted& interrupted) {
    if (!term_ended()) {
      failed(std::current_exception(), interrupted.what());
    }
  } catch (const std::exception& exception) {
    failed(std::current_exception(), exception.what());
  } catch (...) {
    failed(std::current_exception(), "an activity failed");
  }
}

void RealNode::failed(std::exception_ptr error, const std::string& reason) {
  {
    std::lock_guard lock(driver_.mutex());
    if (!first_error_) {
      first_error_ = std::move(error);
    }
  }
  stop(reason);
}

}  // namespace motley
