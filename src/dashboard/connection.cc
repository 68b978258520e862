#include "dashboard/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace motley {
namespace {

constexpr std::string_view kEndOfHead = "\r\n\r\n";
constexpr std::size_t kPiece = 4'096;
// The most that is read from a client that keeps sending after it has its answer.
constexpr std::size_t kMostLeftOver = 8u << 20;

bool is_not_yet(int problem) {
  return problem == EAGAIN || problem == EWOULDBLOCK || problem == EINTR;
}

}  // namespace

Connection::~Connection() { ::close(socket_); }

Connection::Head Connection::read_head(std::string& head, std::size_t most,
                                       Clock::time_point until) {
  head.clear();
  while (head.size() < most) {
    char piece[kPiece];
    const ssize_t size = ::recv(socket_, piece, std::min(sizeof piece, most - head.size()), 0);
    if (size > 0) {
      const std::size_t before = head.size();
      head.append(piece, static_cast<std::size_t>(size));
      const std::size_t from = before - std::min(before, kEndOfHead.size() - 1);
      if (const std::size_t end = head.find(kEndOfHead, from); end != std::string::npos) {
        more_came_ = head.size() > end + kEndOfHead.size();
        head.resize(end + kEndOfHead.size());
        return Head::kWhole;
      }
    } else if (size == 0 || !is_not_yet(errno)) {
      return Head::kGone;
    } else if (!wait(POLLIN, until)) {
      return Head::kTooLate;
    }
  }
  return Head::kTooLong;
}

bool Connection::write(std::string_view bytes) {
  const std::chrono::duration<double> more(static_cast<double>(bytes.size()) / slowest_);
  const auto deadline =
      Clock::now() + write_time_ + std::chrono::duration_cast<Clock::duration>(more);
  while (!bytes.empty()) {
    const ssize_t size = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (size >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(size));
    } else if (!is_not_yet(errno) || !wait(POLLOUT, deadline)) {
      return false;
    }
    // A client that takes a byte at a time gets no more time than others.
    if (!bytes.empty() && Clock::now() >= deadline) {
      return false;
    }
  }
  return true;
}

void Connection::finish(Clock::time_point until) {
  ::shutdown(socket_, SHUT_WR);
  for (std::size_t left = kMostLeftOver; left > 0;) {
    char piece[kPiece];
    const ssize_t size = ::recv(socket_, piece, sizeof piece, 0);
    if (size > 0) {
      left -= std::min(left, static_cast<std::size_t>(size));
    } else if (size == 0 || !is_not_yet(errno) || !wait(POLLIN, until)) {
      return;
    }
  }
}

void Connection::stop_reading() const { ::shutdown(socket_, SHUT_RD); }
void Connection::cut() const { ::shutdown(socket_, SHUT_RDWR); }

// False if the time is up. True may also mean that an error is pending.
bool Connection::wait(short events, Clock::time_point until) const {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  if (left.count() <= 0) {
    return false;
  }
  pollfd ready{socket_, events, 0};
  return ::poll(&ready, 1, static_cast<int>(left.count())) != 0;
}

}  // namespace motley
