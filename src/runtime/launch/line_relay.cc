#include "runtime/launch/line_relay.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace motley {
namespace {

constexpr std::size_t kMostHeld = 1 << 20;
constexpr std::size_t kPiece = 64 << 10;

bool is_regular(int file) {
  struct stat about {};
  return fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

// Setting O_NONBLOCK on an inherited descriptor would affect everyone who shares it, such as the
// shell.
Descriptor opened_again(int file) {
  const std::string name = "/proc/self/fd/" + std::to_string(file);
  return file < 0 || is_regular(file)
             ? Descriptor()
             : Descriptor(open(name.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// Writes to a file, which never blocks. What does not fit on a full disk is lost; the run goes on.
void write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t size = write(file, text.data(), text.size());
    if (size < 0 && errno != EINTR) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
}

}  // namespace

void PrefixedLines::take(std::string_view piece, std::string& lines) {
  while (!piece.empty()) {
    const auto end = piece.find('\n');
    const auto rest = piece.substr(0, std::min(end, kLongest - begun_.size()));
    begun_ += rest;
    const bool is_whole = rest.size() == end;
    piece.remove_prefix(rest.size() + (is_whole ? 1 : 0));
    if (is_whole || begun_.size() == kLongest) {
      lines += prefix_ + begun_ + '\n';
      begun_.clear();
    }
  }
}

void PrefixedLines::finish(std::string& lines) {
  if (!begun_.empty()) {
    lines += prefix_ + begun_ + '\n';
    begun_.clear();
  }
}

LineRelay::LineRelay(int out, int err) : sinks_{Sink(out), Sink(err)} {}

// A writable pipe accepts PIPE_BUF bytes without blocking.
LineRelay::Sink::Sink(int file_)
    : file(file_), own(opened_again(file_)), at_once(own || is_regular(file_) ? kPiece : PIPE_BUF) {
  file = own ? own.get() : file;
}

void LineRelay::add(Rank rank, Descriptor pipe, Stream stream, std::string prefix,
                    std::shared_ptr<Descriptor> log) {
  sources_.push_back(
      {rank, std::move(pipe), stream, PrefixedLines(std::move(prefix)), std::move(log)});
}

void LineRelay::say(const std::string& line) {
  if (Sink& sink = sinks_[1]; sink.file >= 0) {
    sink.text += line + '\n';
  }
}

void LineRelay::turn(int milliseconds) {
  std::vector<pollfd> wanted;
  for (const Sink& sink : sinks_) {
    wanted.push_back({sink.held() == 0 ? -1 : sink.file, POLLOUT, 0});
  }
  std::vector<std::list<Source>::iterator> read;
  for (auto source = sources_.begin(); source != sources_.end(); ++source) {
    if (sink_of(*source).held() < kMostHeld) {
      wanted.push_back({source->pipe.get(), POLLIN, 0});
      read.push_back(source);
    }
  }
  if (poll(wanted.data(), wanted.size(), milliseconds) <= 0) {
    return;
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (wanted[i + 2].revents != 0 && !read_some(*read[i])) {
      end(*read[i]);
      sources_.erase(read[i]);
    }
  }
  for (std::size_t i = 0; i < 2; ++i) {
    if (wanted[i].revents != 0) {
      sinks_[i].write_some();
    }
  }
}

bool LineRelay::read_some(Source& source) {
  std::array<char, kPiece> piece;
  const ssize_t size = read(source.pipe.get(), piece.data(), piece.size());
  if (size <= 0) {
    return size < 0 && (errno == EINTR || errno == EAGAIN);
  }
  const std::string_view text(piece.data(), static_cast<std::size_t>(size));
  write_whole(source.log->get(), text);
  if (sink_of(source).file >= 0) {
    source.lines.take(text, sink_of(source).text);
  }
  return true;
}

void LineRelay::end(Source& source) {
  if (sink_of(source).file >= 0) {
    source.lines.finish(sink_of(source).text);
  }
}

void LineRelay::finish(Rank rank) {
  std::erase_if(sources_, [&](Source& source) {
    if (source.rank != rank) {
      return false;
    }
    // A pipe holds little, and only unrelated processes could still write to it.
    constexpr int kMostPieces = 64;
    pollfd ready{source.pipe.get(), POLLIN, 0};
    for (int piece = 0; piece < kMostPieces && poll(&ready, 1, 0) > 0; ++piece) {
      if (!read_some(source)) {
        break;
      }
    }
    end(source);
    return true;
  });
}

bool LineRelay::is_idle() const { return sinks_[0].held() == 0 && sinks_[1].held() == 0; }

void LineRelay::Sink::write_some() {
  const ssize_t size = write(file, text.data() + shown, std::min(held(), at_once));
  if (size >= 0) {
    shown += static_cast<std::size_t>(size);
  } else if (errno != EINTR && errno != EAGAIN) {
    file = -1;  // no one reads it any more; the logs still have everything
    shown = text.size();
  }
  if (held() == 0 || shown > kMostHeld) {
    text.erase(0, shown);
    shown = 0;
  }
}

}  // namespace motley
