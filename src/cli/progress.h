// What a person sees of a run while it goes: one line that changes on a terminal, plain lines
// elsewhere, nothing when quiet. Always on stderr, so that stdout is the result's.
#pragma once

#include <chrono>
#include <optional>

#include "record/summary.h"
#include "runtime/run.h"

namespace motley {

class ProgressDisplay {
 public:
  enum class Style { kLive, kPlain, kNone };
  // kLive when stderr is a terminal.
  static Style style_for(bool quiet);

  ProgressDisplay(Style style, std::int64_t batch);
  ~ProgressDisplay() { clear(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void update(const RunProgress& progress);
  void evaluated(const Metric& metric);
  // Takes the live line away before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string line(const RunProgress& progress) const;

  const Style style_;
  const std::int64_t batch_;
  const Clock::time_point began_;
  Clock::time_point shown_;
  std::optional<double> accuracy_;
  bool dirty_ = false;  // a live line is on the screen
};

}  // namespace motley
