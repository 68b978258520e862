// Progress on stderr: a block that is redrawn in place on a terminal, otherwise a line from time to
// time.
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

  // Whether it is time for the next update.
  bool is_due() const;
  void update(const RunRecord& record, const Moment& moment);
  void evaluated(const Metric& metric);
  // Removes the block. Call before printing anything else.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  const Style style_;
  Clock::time_point shown_;
  std::size_t drawn_ = 0;  // lines of the block on the screen
};

}  // namespace motley
