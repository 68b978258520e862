// Progress on stderr: a block that is redrawn in place on a terminal, otherwise a line from time to
// time. A terminal that stalls, or a pager that does not read on, does not stop the run: a thread
// of its own writes, and while it waits the block is not redrawn.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "record/background_writer.h"
#include "record/live_text.h"

namespace motley {

class ProgressDisplay {
 public:
  enum class Style { kLive, kPlain, kNone };
  // kLive when stderr is a terminal.
  static Style style_for(bool quiet);

  explicit ProgressDisplay(Style style);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  // Whether it is time for the next update.
  bool is_due() const;
  void update(const RunRecord& record, const Moment& moment);
  void evaluated(const Metric& metric);
  // A line that stays. A warning is also shown to those who want to see no progress.
  void notice(const std::string& line);
  void warning(const std::string& line);
  // Removes the block, and waits (not for ever) until it is gone. Call before printing anything
  // else.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  void say(std::string text);
  std::string erase_block();

  const Style style_;
  std::optional<BackgroundWriter> out_;  // made when there is something to say
  Clock::time_point shown_;
  std::size_t drawn_ = 0;  // lines of the block on the screen
};

}  // namespace motley
