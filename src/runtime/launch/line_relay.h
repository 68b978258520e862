// LineRelay: what processes print, shown line by line with who said it, and kept as it is.
//
//   LineRelay relay(STDOUT_FILENO, STDERR_FILENO);
//   relay.add(2, std::move(pipe), LineRelay::Stream::kOut, "[rank 2] ", log);
//   relay.turn(50);          moves what is there; waits up to 50 ms for something
//
// Lines of different processes never mix; one of more than 64 KiB is shown in pieces. What cannot
// be shown yet is held back up to 1 MiB; then nothing more is read of that stream, and who prints
// waits in its own write, as at any pipe. Nothing here waits for a reader of ours: signals and ends
// of processes are seen even when nobody reads what we print.
//
// Cost: 1 read, 1 write to the log and a few to the terminal for up to 64 KiB.
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

// Cuts what comes in pieces into lines, each with its prefix and one '\n' at its end.
class PrefixedLines {
 public:
  static constexpr std::size_t kLongest = 64 << 10;

  explicit PrefixedLines(std::string prefix) : prefix_(std::move(prefix)) {}
  // Appends what is whole now to `lines`.
  void take(std::string_view piece, std::string& lines);
  // A last line without an end.
  void finish(std::string& lines);

 private:
  const std::string prefix_;
  std::string begun_;
};

class LineRelay {
 public:
  enum class Stream { kOut, kErr };

  // Where the two streams are shown; -1: nowhere.
  LineRelay(int out, int err);

  // Reads `pipe` from now on; all of it goes to `log` as it is.
  void add(Rank rank, Descriptor pipe, Stream stream, std::string prefix,
           std::shared_ptr<Descriptor> log);

  // Moves what is there, once it has waited for that up to so long.
  void turn(int milliseconds);
  // The process has ended: takes what it left, whoever else still holds its pipes.
  void finish(Rank rank);
  // Nothing is held back any more.
  bool is_idle() const;

 private:
  struct Source {
    Rank rank;
    Descriptor pipe;
    Stream stream;
    PrefixedLines lines;
    std::shared_ptr<Descriptor> log;
  };
  // A terminal, file or pipe of ours.
  struct Sink {
    explicit Sink(int file);

    std::size_t held() const { return text.size() - shown; }
    void write_some();

    int file;             // -1: nobody sees it
    Descriptor own;       // the same, opened so that it does not block
    std::size_t at_once;  // bytes that a write takes without waiting
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
