#include "session/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdio>

namespace motley {
namespace {

constexpr int kDeadline = 20'000;  // milliseconds

// While it lives, stderr is a pipe with little room that is read only here.
class ReadStderr {
 public:
  ReadStderr() {
    std::fflush(stderr);
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    EXPECT_GT(fcntl(ends[1], F_SETPIPE_SZ, 4096), 0);
    read_ = ends[0];
    before_ = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
  }
  ~ReadStderr() {
    std::fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
    close(read_);
  }
  ReadStderr(const ReadStderr&) = delete;
  ReadStderr& operator=(const ReadStderr&) = delete;

  // What comes until this text has come.
  std::string read_until(const std::string& last) {
    std::string text;
    pollfd ready{read_, POLLIN, 0};
    while (text.find(last) == std::string::npos && poll(&ready, 1, kDeadline) > 0) {
      std::array<char, 1000> part{};
      text.append(part.data(), static_cast<std::size_t>(read(read_, part.data(), part.size())));
    }
    return text;
  }

 private:
  int read_ = -1;
  int before_ = -1;
};

TEST(ProgressDisplay, DoesNotWaitForWhoeverReadsIt) {
  ReadStderr pager;
  ProgressDisplay display(ProgressDisplay::Style::kPlain);
  std::string expected;
  for (std::int64_t step = 1; step <= 1000; ++step) {
    Metric metric;
    metric.step = step;
    display.evaluated(metric);
    expected += fmt::format("step {}  0.00 s  loss 0.0000  accuracy 0.0000\n", step);
  }
  EXPECT_FALSE(display.is_due());
  EXPECT_EQ(pager.read_until("step 1000  0.00 s  loss 0.0000  accuracy 0.0000\n"), expected);
}

TEST(ProgressDisplay, WarningsAreShownToThoseWhoWantNoProgress) {
  for (const auto style : {ProgressDisplay::Style::kPlain, ProgressDisplay::Style::kNone}) {
    ReadStderr terminal;
    ProgressDisplay display(style);
    display.notice("worker 2 leaves");
    display.warning("no progress for 12 s");
    const bool shows_all = style == ProgressDisplay::Style::kPlain;
    EXPECT_EQ(terminal.read_until("12 s\n"),
              std::string(shows_all ? "motley: worker 2 leaves\n" : "") +
                  "motley: no progress for 12 s\n");
  }
}

}  // namespace
}  // namespace motley
