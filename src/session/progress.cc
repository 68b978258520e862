#include "session/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr auto kLivePause = 100ms;
constexpr auto kPlainPause = 5s;

TextRoom room_on_screen() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) {
    return {};
  }
  return {size.ws_col, size.ws_row};
}

// Then whoever reads stderr has to be waited for elsewhere.
constexpr Seconds kClearPatience = 1;

// Ignores errors: a closed stderr must not fail the run.
Status write_to_stderr(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
  return {};
}

}  // namespace

ProgressDisplay::Style ProgressDisplay::style_for(bool quiet) {
  if (quiet) {
    return Style::kNone;
  }
  return isatty(STDERR_FILENO) ? Style::kLive : Style::kPlain;
}

ProgressDisplay::ProgressDisplay(Style style) : style_(style), shown_(Clock::now()) {}

ProgressDisplay::~ProgressDisplay() { clear(); }

void ProgressDisplay::say(std::string text) {
  if (!out_) {
    out_.emplace(BackgroundWriter::WhenFull::kLeaveOut);
  }
  out_->add("stderr", [text = std::move(text)] { return write_to_stderr(text); });
}

bool ProgressDisplay::is_due() const {
  if (out_ && !out_->is_idle()) {
    return false;
  }
  const auto pause = style_ == Style::kLive ? Clock::duration(kLivePause) : kPlainPause;
  return style_ != Style::kNone && Clock::now() - shown_ >= pause;
}

void ProgressDisplay::update(const RunRecord& record, const Moment& moment) {
  if (style_ == Style::kPlain && record.samples() == 0 && !moment.stale_for) {
    return;  // in a log, a line before the first step is noise
  }
  shown_ = Clock::now();
  std::string text;
  if (style_ == Style::kPlain) {
    for (const std::string& line : plain_lines(record, moment)) {
      text += line + "\n";
    }
  } else if (style_ == Style::kLive) {
    // Overwrites the old block line by line, so that nothing flickers, then clears what is left.
    text = drawn_ > 0 ? fmt::format("\033[{}A", drawn_) : "";
    const auto lines = live_block(record, moment, room_on_screen());
    for (const std::string& line : lines) {
      text += fmt::format("\r{}\033[K\n", line);
    }
    text += "\033[J";
    drawn_ = lines.size();
  }
  say(std::move(text));
}

void ProgressDisplay::evaluated(const Metric& metric) {
  if (style_ == Style::kPlain) {
    std::string text =
        fmt::format("step {}  {:.2f} s  loss {:.4f}", metric.step, metric.seconds, metric.loss);
    if (!std::isnan(metric.accuracy)) {
      text += fmt::format("  accuracy {:.4f}", metric.accuracy);
    }
    for (const NamedNumber& each : metric.named) {
      text += fmt::format("  {} {:.4f}", each.name, each.value);
    }
    say(text + "\n");
  }
}

void ProgressDisplay::notice(const std::string& line) {
  if (style_ != Style::kNone) {
    warning(line);
  }
}

void ProgressDisplay::warning(const std::string& line) {
  say(fmt::format("{}motley: {}\n", erase_block(), line));
}

// The block is drawn again below at the next update.
std::string ProgressDisplay::erase_block() {
  const std::size_t drawn = std::exchange(drawn_, 0);
  return drawn > 0 ? fmt::format("\033[{}A\r\033[J", drawn) : "";
}

void ProgressDisplay::clear() {
  if (drawn_ > 0) {
    say(erase_block());
  }
  if (out_) {
    out_->finish(kClearPatience);
  }
}

}  // namespace motley
