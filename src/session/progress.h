// Progress on stderr: a block that is drawn over and over on a terminal, lines now and then
// otherwise.
#pragma once

#include <chrono>
#include <cstddef>

#include "record/live_text.h"

namespace motley {

class ProgressDisplay {
 public:
  enum class Style { kLive, kPlain, kNone };
  // kLive when stderr is a terminal.
  static Style style_for(bool quiet);

  explicit ProgressDisplay(Style style);
  ~ProgressDisplay() { clear(); }
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Whether it is time for another look.
  bool is_due() const;
  void update(const RunRecord& record, const Moment& moment);
  void evaluated(const Metric& metric);
  // Takes the block away before something else is printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  const Style style_;
  Clock::time_point shown_;
  std::size_t drawn_ = 0;  // lines of the block that are on the screen
};

}  // namespace motley
