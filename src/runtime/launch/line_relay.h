// LineRelay: shows the output of processes line by line with a prefix, and logs it unchanged.
//
//   LineRelay relay(STDOUT_FILENO, STDERR_FILENO);
//   relay.add(2, std::move(pipe), LineRelay::Stream::kOut, "[rank 2] ", log);
//   relay.turn(50);          moves pending output; waits up to 50 ms for some
//
// Lines of different processes never mix; a line of more than 64 KiB is shown in pieces. Up to 1
// MiB that cannot be shown yet is held back; beyond that the stream is not read, and the process
// blocks in its own write, as with any pipe. The relay itself never waits for the terminal, so
// signals and ends of processes are noticed even if nobody reads the output.
//
// Cost: one read, one write to the log and a few to the terminal per 64 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "motley/base/ids.h"

namespace motley {

// Splits a stream of pieces into lines, each with the prefix and one '\n'.
class PrefixedLines {
 public:
  static constexpr std::size_t kLongest = 64 << 10;

  explicit PrefixedLines(std::string prefix) : prefix_(std::move(prefix)) {}
  // Appends the lines that are complete now to `lines`.
  void take(std::string_view piece, std::string& lines);
  // Appends a last line that has no '\n'.
  void finish(std::string& lines);

 private:
  const std::string prefix_;
  std::string begun_;
};

class LineRelay {
 public:
  enum class Stream { kOut, kErr };

  // The descriptors on which the two streams are shown; -1: nowhere.
  LineRelay(int out, int err);

  // Reads `pipe` from now on; everything goes to `log` unchanged.
  void add(Rank rank, Descriptor pipe, Stream stream, std::string prefix,
           std::shared_ptr<Descriptor> log);

  // Shows a line of this process among those of standard error.
  void say(const std::string& line);

  // Moves pending output, after waiting for some for up to `milliseconds`.
  void turn(int milliseconds);
  // Call when the process has ended: takes the rest, even if others still hold its pipes open.
  void finish(Rank rank);
  // True if nothing is held back.
  bool is_idle() const;

 private:
  struct Source {
    Rank rank;
    Descriptor pipe;
    Stream stream;
    PrefixedLines lines;
    std::shared_ptr<Descriptor> log;
  };
  // A terminal, file or pipe of this process.
  struct Sink {
    explicit Sink(int file);

    std::size_t held() const { return text.size() - shown; }
    void write_some();

    int file;             // -1: not shown
    Descriptor own;       // the same file, opened non-blocking
    std::size_t at_once;  // bytes that one write accepts without blocking
    std::string text;
    std::size_t shown = 0;  // of the text
  };

  Sink& sink_of(const Source& source) { return sinks_[source.stream == Stream::kOut ? 0 : 1]; }
  bool read_some(Source& source);  // false at its end
  void end(Source& source);

  std::array<Sink, 2> sinks_;
  std::list<Source> sources_;
};

}  // namespace motley
