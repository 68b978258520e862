// Connection: one client's socket, where every wait has an end. One thread reads and writes; any
// other may cut it short.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace motley {

class Connection {
 public:
  using Clock = std::chrono::steady_clock;

  // `socket` does not block, and is this object's from here on. What is written to it must be taken
  // within `write_time`, and a second more for every `slowest` bytes of it.
  Connection(int socket, std::chrono::milliseconds write_time, double slowest)
      : socket_(socket), write_time_(write_time), slowest_(slowest) {}
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  enum class Head { kWhole, kTooLong, kTooLate, kGone };
  // Reads the head of a request, with the empty line at its end, into `head`; what follows it is
  // dropped. Of one that is not whole `head` has what came.
  Head read_head(std::string& head, std::size_t most, Clock::time_point until);
  // More came with the head than the head.
  bool more_came() const { return more_came_; }

  // False: the client is gone, or did not take it in time.
  bool write(std::string_view bytes);

  // Says that no more comes, and takes in for a moment what the client still sends: to close at
  // once would take the answer back from one who has not read it.
  void finish(Clock::time_point until);

  // For other threads. No more is read: who waits to read sees the end.
  void stop_reading() const;
  // Neither read nor written.
  void cut() const;

 private:
  bool wait(short events, Clock::time_point until) const;

  const int socket_;
  const std::chrono::milliseconds write_time_;
  const double slowest_;
  bool more_came_ = false;
};

}  // namespace motley
