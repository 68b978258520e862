#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace motley {
namespace {

using namespace std::chrono_literals;

constexpr auto kLivePause = 100ms;
constexpr auto kPlainPause = 5s;

std::string clock_text(double seconds) {
  const auto whole = static_cast<long>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace

ProgressDisplay::Style ProgressDisplay::style_for(bool quiet) {
  if (quiet) {
    return Style::kNone;
  }
  return isatty(STDERR_FILENO) ? Style::kLive : Style::kPlain;
}

ProgressDisplay::ProgressDisplay(Style style, std::int64_t batch)
    : style_(style), batch_(batch), began_(Clock::now()), shown_(began_) {}

void ProgressDisplay::update(const RunProgress& progress) {
  const auto now = Clock::now();
  const auto pause = style_ == Style::kLive ? Clock::duration(kLivePause) : kPlainPause;
  if (style_ == Style::kNone || now - shown_ < pause) {
    return;
  }
  shown_ = now;
  if (style_ == Style::kLive) {
    fmt::print(stderr, "\r\033[K{}", line(progress));
    std::fflush(stderr);
    dirty_ = true;
  } else {
    fmt::print(stderr, "{}\n", line(progress));
  }
}

void ProgressDisplay::evaluated(const Metric& metric) {
  accuracy_ = metric.accuracy;
  if (style_ == Style::kPlain) {
    fmt::print(stderr, "step {}  {:.2f} s  loss {:.4f}  accuracy {:.4f}\n", metric.step,
               metric.seconds, metric.loss, metric.accuracy);
  }
}

void ProgressDisplay::clear() {
  if (dirty_) {
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    dirty_ = false;
  }
}

std::string ProgressDisplay::line(const RunProgress& progress) const {
  auto steps = [&](std::int64_t samples) { return (samples + batch_ - 1) / batch_; };
  std::string text = fmt::format("step {}/{}", steps(progress.samples), steps(progress.limit));
  if (progress.seconds > 0) {
    text +=
        fmt::format("  {:.0f} samples/s", static_cast<double>(progress.samples) / progress.seconds);
  }
  if (progress.loss) {
    text += fmt::format("  loss {:.4f}", *progress.loss);
  }
  if (accuracy_) {
    text += fmt::format("  accuracy {:.4f}", *accuracy_);
  }
  if (progress.samples > 0) {
    // In the time of the person who waits, which is not the simulator's.
    const double passed = std::chrono::duration<double>(Clock::now() - began_).count();
    const auto left = static_cast<double>(progress.limit - progress.samples);
    text +=
        fmt::format("  ETA {}", clock_text(passed * left / static_cast<double>(progress.samples)));
  }
  return text;
}

}  // namespace motley
