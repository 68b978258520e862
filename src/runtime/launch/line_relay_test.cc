#include "runtime/launch/line_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <signal.h>

#include <sstream>

#include "tests/scratch_dir.h"

namespace motley::line_relay_test {
namespace {

struct TestPipe {
  TestPipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
  }
  // Writes as much of the text as fits; returns how much that was.
  std::size_t put(std::string_view text) const {
    const ssize_t size = ::write(write.get(), text.data(), text.size());
    return size < 0 ? 0 : static_cast<std::size_t>(size);
  }
  std::string take() const {
    std::string text(1 << 20, '\0');
    const ssize_t size = ::read(read.get(), text.data(), text.size());
    return text.substr(0, size < 0 ? 0 : static_cast<std::size_t>(size));
  }
  Descriptor read;
  Descriptor write;
};

std::shared_ptr<Descriptor> log_at(const std::string& path) {
  return std::make_shared<Descriptor>(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
}

std::string contents(const Descriptor& file) {
  std::string text(8 << 20, '\0');
  const ssize_t size = pread(file.get(), text.data(), text.size(), 0);
  return text.substr(0, static_cast<std::size_t>(size));
}

// The same lines come out however the input is split.
RC_GTEST_PROP(PrefixedLines, PiecesDoNotMatter, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::container<std::string>(rc::gen::elementOf(std::string("ab\n\n"))));
  PrefixedLines cutter("> ");
  std::string shown;
  std::string all;
  for (const std::string& piece : pieces) {
    cutter.take(piece, shown);
    all += piece;
    RC_ASSERT(shown.empty() || shown.back() == '\n');
  }
  cutter.finish(shown);
  std::string expected;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    expected += "> " + line + "\n";
  }
  RC_ASSERT(shown == expected);
}

TEST(PrefixedLines, ALongLineIsShownInPieces) {
  const std::string longest(PrefixedLines::kLongest, 'x');
  PrefixedLines cutter("> ");
  std::string shown;
  cutter.take(longest + "y\nz", shown);
  EXPECT_TRUE(shown == "> " + longest + "\n> y\n");
  cutter.finish(shown);
  EXPECT_TRUE(shown.ends_with("\n> y\n> z\n"));
}

class Relay : public testing::Test {
 protected:
  ~Relay() override { signal(SIGPIPE, before_); }

  void add(Rank rank, LineRelay::Stream stream, std::string prefix) {
    relay_.add(rank, std::move(source_.read), stream, std::move(prefix), log_);
  }

  void (*before_)(int) = signal(SIGPIPE, SIG_IGN);
  ScratchDir scratch_;
  std::shared_ptr<Descriptor> log_ = log_at(scratch_.file("log"));
  TestPipe source_;
  TestPipe out_;
  TestPipe err_;
  LineRelay relay_{out_.write.get(), err_.write.get()};
};

TEST_F(Relay, LinesAreShownAndKept) {
  add(2, LineRelay::Stream::kErr, "[rank 2] ");
  source_.put("one\ntw");
  relay_.turn(1000);
  EXPECT_EQ(contents(*log_), "one\ntw");
  relay_.turn(1000);
  EXPECT_EQ(err_.take(), "[rank 2] one\n");
  source_.put("o\nlast");
  relay_.finish(3);  // another rank
  relay_.finish(2);
  EXPECT_FALSE(relay_.is_idle());
  relay_.turn(1000);
  EXPECT_TRUE(relay_.is_idle());
  EXPECT_EQ(err_.take(), "[rank 2] two\n[rank 2] last\n");
  EXPECT_EQ(contents(*log_), "one\ntwo\nlast");
  EXPECT_EQ(out_.take(), "");
  EXPECT_EQ(source_.put("x"), 0U);  // no one holds the other end any more
}

TEST_F(Relay, AtTheEndOfAPipeTheLastLineIsShown) {
  add(0, LineRelay::Stream::kOut, "");
  source_.put("last");
  source_.write.reset();
  for (int i = 0; i < 3; ++i) {
    relay_.turn(0);
  }
  EXPECT_EQ(out_.take(), "last\n");
}

// If no one reads the output, no turn blocks on it, and what is held back has a bound.
TEST_F(Relay, AProcessThatPrintsFasterThanIsReadBlocks) {
  add(0, LineRelay::Stream::kOut, "");
  const std::string line = std::string(999, 'x') + "\n";
  const std::size_t there = out_.put(line);  // leaves no room for a whole piece
  std::size_t printed = 0;
  for (int turn = 0; turn < 200; ++turn) {
    for (std::size_t size = 0; (size = source_.put(line)) > 0; printed += size) {
    }
    relay_.turn(0);
  }
  EXPECT_GT(printed, 1U << 20);
  EXPECT_LT(printed, 3U << 20);
  source_.write.reset();
  std::string shown;
  for (int turn = 0; turn < 200; ++turn) {
    relay_.turn(0);
    shown += out_.take();
  }
  EXPECT_EQ(shown.size(), there + printed);
  EXPECT_TRUE(relay_.is_idle());
}

TEST_F(Relay, TheLogContinuesWhenNobodyReadsTheOutput) {
  add(0, LineRelay::Stream::kOut, "");
  out_.read.reset();
  source_.put("one\n");
  relay_.turn(1000);
  relay_.turn(1000);
  source_.put("two\n");
  relay_.turn(1000);
  relay_.finish(0);
  EXPECT_TRUE(relay_.is_idle());
  EXPECT_EQ(contents(*log_), "one\ntwo\n");
}

TEST_F(Relay, NothingIsShownWithoutAnOutput) {
  LineRelay quiet(-1, -1);
  quiet.add(0, std::move(source_.read), LineRelay::Stream::kOut, "", log_);
  source_.put("one\ntwo");
  quiet.turn(1000);
  quiet.finish(0);
  EXPECT_TRUE(quiet.is_idle());
  EXPECT_EQ(contents(*log_), "one\ntwo");
}

}  // namespace
}  // namespace motley::line_relay_test
