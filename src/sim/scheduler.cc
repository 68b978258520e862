#include "sim/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "motley/node/node.h"

namespace motley {
namespace {

constexpr std::size_t kToleratedStale = 1024;

}  // namespace

ActivityId Scheduler::start(std::function<void()> body) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<ActivityId>(activities_.size()));
    activities_.push_back(std::make_unique<Activity>());
  }
  const ActivityId id = unused_.back();
  unused_.pop_back();
  activities_[id]->fiber = std::make_unique<Fiber>(stacks_, std::move(body));
  ready_.push_back(id);
  ++live_;
  return id;
}

void Scheduler::at(Seconds when, std::uint32_t what, std::uint32_t index) {
  MOTLEY_CHECK(when >= now_, "event at {} s scheduled in the past (now {} s)", when, now_);
  queue_.push(when, {what, index, 0});
}

bool Scheduler::step() {
  MOTLEY_CHECK(current_ == kNobody, "step() inside an activity");
  if (next_ready_ < ready_.size()) {
    run(ready_[next_ready_++]);
    return true;
  }
  ready_.clear();
  next_ready_ = 0;
  drop_stale_front();
  const Seconds own = owner_.next_own_event();
  if (own < Node::kForever && (queue_.empty() || own <= queue_.next_at())) {
    now_ = own;
    ++events_;
    owner_.on_own_event();
    return true;
  }
  if (queue_.empty()) {
    return false;
  }
  run_event();
  return true;
}

void Scheduler::run_event() {
  const auto event = queue_.pop();
  now_ = event.at;
  ++events_;
  if (event.what.what == kTimer) {
    Activity& activity = *activities_[event.what.index];
    activity.timed = false;
    end_wait(activity);
    run(event.what.index);
  } else {
    owner_.on_event(event.what.what, event.what.index);
  }
}

// The clock does not stop at stale events: they do nothing.
void Scheduler::drop_stale_front() {
  while (!queue_.empty() && is_stale(queue_.next())) {
    queue_.pop();
    --stale_;
  }
}

ActivityId Scheduler::current() const {
  MOTLEY_CHECK(current_ != kNobody, "a blocking call outside every activity or inside busy()");
  return current_;
}

void Scheduler::wait_until(Seconds deadline) {
  const ActivityId id = current();
  Activity& activity = *activities_[id];
  activity.waiting = true;
  if (deadline < Node::kForever) {
    activity.timed = true;
    queue_.push(std::max(deadline, now_), {kTimer, id, activity.wait_number});
  }
  activity.fiber->suspend();
}

void Scheduler::run_outside(const std::function<void()>& body) {
  Activity& activity = *activities_[current()];
  activity.outside = &body;
  activity.fiber->suspend();
  if (activity.outside_error) {
    std::rethrow_exception(std::exchange(activity.outside_error, nullptr));
  }
}

void Scheduler::wake(ActivityId id) {
  Activity& activity = *activities_[id];
  if (!activity.waiting) {
    return;
  }
  end_wait(activity);
  ready_.push_back(id);
}

void Scheduler::wake_all() {
  for (ActivityId id = 0; id < activities_.size(); ++id) {
    wake(id);
  }
}

bool Scheduler::is_stale(const What& what) const {
  return what.what == kTimer && what.wait_number != activities_[what.index]->wait_number;
}

void Scheduler::end_wait(Activity& activity) {
  activity.waiting = false;
  ++activity.wait_number;
  if (std::exchange(activity.timed, false)) {
    ++stale_;
    drop_stale_events();
  }
}

// Far deadlines that are hardly ever reached would otherwise pile up in the queue. Waiting until
// most events are stale makes the sweep constant time per event.
void Scheduler::drop_stale_events() {
  if (stale_ > kToleratedStale && stale_ > queue_.size() / 2) {
    queue_.remove_if([this](const What& what) { return is_stale(what); });
    stale_ = 0;
  }
}

void Scheduler::run(ActivityId id) {
  Activity& activity = *activities_[id];
  for (;;) {
    current_ = id;
    activity.fiber->resume();
    current_ = kNobody;
    if (activity.outside == nullptr) {
      break;
    }
    serve_outside(activity);
  }
  if (activity.fiber->done()) {
    auto error = activity.fiber->error();
    activity.fiber.reset();
    unused_.push_back(id);
    --live_;
    owner_.on_end(id, std::move(error));
  }
}

void Scheduler::serve_outside(Activity& activity) {
  try {
    (*activity.outside)();
  } catch (...) {
    activity.outside_error = std::current_exception();
  }
  activity.outside = nullptr;
}

}  // namespace motley
