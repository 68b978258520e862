// Scheduler: activities (fibers) and events on a virtual clock. It knows no ranks, messages or
// links.
//
//   Scheduler scheduler(owner);
//   scheduler.start([&] { scheduler.wait_until(2.0); ... });
//   while (scheduler.live() > 0 && scheduler.step()) {}
//
// Activities that can run go first, in the order in which they became ready. When none can, the
// clock jumps to the next event. Events at the same time happen in the order of scheduling.
//
// step() is called on a large stack; run_outside() lends it to an activity.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "motley/base/ids.h"
#include "sim/event_queue.h"
#include "sim/fiber.h"
#include "sim/stack_pool.h"

namespace motley {

using ActivityId = std::uint32_t;

class Scheduler {
 public:
  // Is told what happens. Calls come from step(), outside every activity.
  class Owner {
   public:
    // The time given to at() has come.
    virtual void on_event(std::uint32_t what, std::uint32_t index) = 0;
    // An event of the owner whose time may change as long as it has not come; Node::kForever or
    // more if there is none. At equal times it happens before those of at().
    virtual Seconds next_own_event() { return std::numeric_limits<Seconds>::infinity(); }
    virtual void on_own_event() {}
    // An activity has ended; `error` is the exception that left it, or null. Its id may be reused.
    virtual void on_end(ActivityId activity, std::exception_ptr error) = 0;

   protected:
    ~Owner() = default;
  };

  // The clock begins at `now`.
  explicit Scheduler(Owner& owner, Seconds now = 0) : owner_(owner), now_(now) {}

  // `body` begins after the activities that are ready now have had their turn.
  ActivityId start(std::function<void()> body);
  // Activities that have not ended.
  std::size_t live() const { return live_; }

  Seconds now() const { return now_; }
  std::uint64_t events() const { return events_; }
  // Calls owner.on_event(what, index) at time `when`, which must not have passed.
  void at(Seconds when, std::uint32_t what, std::uint32_t index);

  // Runs one activity until it waits, or one event. Returns false if there is nothing to do.
  bool step();

  // Called by an activity about itself:
  ActivityId current() const;
  // Waits until the deadline (kForever: none) or until wake().
  void wait_until(Seconds deadline);
  // Runs `body` on the stack of step(). Rethrows what it throws. It must not wait.
  void run_outside(const std::function<void()>& body);

  // Ends the wait of an activity. Does nothing if it does not wait.
  void wake(ActivityId id);
  // Wakes all activities, in order of their ids.
  void wake_all();

 private:
  struct Activity {
    std::unique_ptr<Fiber> fiber;
    bool waiting = false;
    bool timed = false;             // the queue holds the end of this wait
    std::uint64_t wait_number = 0;  // number of this wait; timers of earlier ones are stale
    const std::function<void()>* outside = nullptr;
    std::exception_ptr outside_error;
  };
  struct What {
    std::uint32_t what;
    std::uint32_t index;
    std::uint64_t wait_number;
  };
  static constexpr std::uint32_t kTimer = ~0U;  // What::what for the end of a wait
  static constexpr ActivityId kNobody = ~0U;

  void run_event();
  bool is_stale(const What& what) const;
  void drop_stale_front();
  void end_wait(Activity& activity);
  void drop_stale_events();
  void run(ActivityId id);
  void serve_outside(Activity& activity);

  Owner& owner_;
  Seconds now_;
  std::uint64_t events_ = 0;
  EventQueue<What> queue_;
  std::size_t stale_ = 0;  // number in the queue
  StackPool stacks_;
  std::vector<std::unique_ptr<Activity>> activities_;  // by id
  std::vector<ActivityId> unused_;
  std::size_t live_ = 0;
  std::vector<ActivityId> ready_;  // valid from next_ready_ on
  std::size_t next_ready_ = 0;
  ActivityId current_ = kNobody;
};

}  // namespace motley
