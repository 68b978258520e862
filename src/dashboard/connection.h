// Connection: one client's socket, where every wait has a limit. One thread reads and writes; any
// other thread may cut it off.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // `socket` must be non-blocking; this object owns it. A write must be accepted within
  // `write_time`, plus a second for every `slowest` bytes.
  Connection(int socket, std::chrono::milliseconds write_time, double slowest)
      : socket_(socket), write_time_(write_time), slowest_(slowest) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Head { kWhole, kTooLong, kTooLate, kGone };
  // Reads the head of a request, including the empty line at its end, into `head`; what follows is
  // dropped. If the head is incomplete, `head` has the part that came.
  Head read_head(std::string& head, std::size_t most, Clock::time_point until);
  // More bytes came than the head.
  bool more_came() const { return more_came_; }

  // False if the client is gone or did not accept the bytes in time.
  bool write(std::string_view bytes);

  // Ends the sending direction and briefly reads what the client still sends: closing at once could
  // discard an answer that the client has not read yet.
  void finish(Clock::time_point until);

  // For other threads: ends reading; a blocked read returns.
  void stop_reading() const;
  // For other threads: ends reading and writing.
  void cut() const;

 private:
  bool wait(short events, Clock::time_point until) const;

  const int socket_;
  const std::chrono::milliseconds write_time_;
  const double slowest_;
  bool more_came_ = false;
};

}  // namespace motley
