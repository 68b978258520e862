// While a TerminationWatch lives, the first SIGTERM does not end this process: it is passed on
// once, on a thread of its own. A second one ends the process.
#pragma once

#include <csignal>
#include <functional>
#include <utility>

#include "runtime/worker/heartbeat.h"
#include "session/signals.h"

namespace motley {

class TerminationWatch {
 public:
  explicit TerminationWatch(std::function<void()> pass_on)
      : before_(caught()), pass_on_(std::move(pass_on)), glances_(kGlance, [this] { look(); }) {}
  ~TerminationWatch() { let_termination_end(); }
  TerminationWatch(const TerminationWatch&) = delete;
  TerminationWatch& operator=(const TerminationWatch&) = delete;

 private:
  static constexpr Seconds kGlance = 0.05;  // a signal handler itself can do next to nothing

  static int caught() {
    catch_termination();
    return signals_caught(SIGTERM);
  }
  void look() {
    if (!is_passed_on_ && signals_caught(SIGTERM) > before_) {
      is_passed_on_ = true;
      pass_on_();
    }
  }

  const int before_;
  const std::function<void()> pass_on_;
  bool is_passed_on_ = false;
  Heartbeat glances_;  // last member: it uses all of the above
};

}  // namespace motley
