// One line to whoever listens at an address, and one line back: what peers and commands say to a
// rendezvous.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "fabric/fabric.h"
#include "motley/base/ids.h"

namespace motley {

// If it returns a reason, a wait ends.
using Interruption = std::function<std::optional<std::string>()>;

// How long to wait: until a deadline or an interruption, which is asked for ten times a second.
class Patience {
 public:
  Patience(Seconds seconds, const Interruption& interrupted);

  // The same, but at most for `time`.
  Patience at_most(std::chrono::steady_clock::duration time) const;
  bool is_over() const { return Clock::now() >= deadline_ || why_interrupted(); }
  std::optional<std::string> why_interrupted() const {
    return interrupted_ ? interrupted_() : std::nullopt;
  }
  // Waits until the socket is readable or writable. False if the wait is over.
  bool wait_for(int socket, short events) const;
  // False if the wait is over afterwards.
  bool sleep(std::chrono::milliseconds time) const;

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point deadline_;
  const Interruption& interrupted_;
};

struct Exchanged {
  std::optional<std::string> heard;  // the answer, without its end
  Descriptor socket;                 // over which it came
  std::string trouble;               // why there is none, as part of a sentence
};

// Tries all addresses of the host once; a name may have some that do not answer. `line` ends with
// '\n'. An answer that is longer than `longest` is cut off.
Exchanged exchange_lines(const Endpoint& there, const std::string& line, const Patience& patience,
                         std::size_t longest);

}  // namespace motley
