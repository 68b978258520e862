#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <asio/connect.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "fabric/tcp_connection.h"

namespace motley {
namespace {

using asio::ip::tcp;
using unix_domain = asio::local::stream_protocol;

// As many connections that got stuck may wait for the peer to close them. A peer that closes none
// has stopped, although its machine accepts connections.
constexpr std::size_t kMaxRetired = 3;

#ifndef TCP_RTO_MAX_MS
#define TCP_RTO_MAX_MS 44  // Linux 6.15
#endif

// Makes TCP retransmit at least every second, on kernels that can. Then it gives up after fewer
// seconds, so it is told when to: later than this process, which does not count the time in which
// it could not run.
//
// Measured between network namespaces on Linux 6.18, a message every 10 ms in each direction;
// seconds from the last message before packets began to vanish to the first one after:
//
//   packets vanish for                          1 s    2 s    3 s    4 s    4.5 s
//   plain TCP                                   1.5    3.1    3.1    6.5    6.5
//   TCP_THIN_LINEAR_TIMEOUTS                    1.5    3.2    3.1    6.6    6.6
//   TCP_RTO_MAX_MS                              1.5    2.5    3.5    4.6    4.6
//   another connection, stuck after 7.5 s       1.5    2.6    3.2    4.6    4.9
//   the last two                                1.5    2.5    3.4    4.1    4.6
//
// TCP_THIN_LINEAR_TIMEOUTS, also with two messages a second, changes nothing, so it is not set.
void retransmit_often(int socket, double stuck_after) {
  constexpr int kLongestPause = 1000;  // the smallest value there is
  const auto patience = static_cast<int>(std::min(2000 * stuck_after, 1e9));
  if (setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience) == 0) {
    setsockopt(socket, IPPROTO_TCP, TCP_RTO_MAX_MS, &kLongestPause, sizeof kLongestPause);
  }
}

// Rather than given up by this machine.
bool was_closed_by_peer(int socket) {
  char byte = 0;
  return recv(socket, &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET || errno == EPIPE;
}

// As if the network were away for a while, rather than the peer.
bool is_unreachable(const std::error_code& error) {
  return error == asio::error::network_unreachable || error == asio::error::host_unreachable ||
         error == asio::error::network_down || error == asio::error::timed_out;
}

}  // namespace

TcpFabric::Outgoing::Outgoing(TcpFabric& fabric, Rank peer, Endpoint endpoint, Message hello)
    : fabric_(&fabric),
      driver_(fabric.driver_),
      peer_(peer),
      endpoint_(std::move(endpoint)),
      hello_(std::move(hello)),
      socket_(driver_.io()),
      repeats_(fabric.stuck_after_ > 0) {}

void TcpFabric::Outgoing::connect() {
  if (!fabric_) {
    return;
  }
  if (is_local()) {
    attempt(unix_domain::endpoint(std::string(1, '\0') + endpoint_.local));
    return;
  }
  std::error_code error;
  const auto address = asio::ip::make_address(endpoint_.host, error);
  if (error) {
    not_connected(error);
  } else {
    attempt(tcp::endpoint(address, endpoint_.port));
  }
}

void TcpFabric::Outgoing::attempt(const asio::generic::stream_protocol::endpoint& there) {
  auto socket = std::make_shared<Socket>(driver_.io());
  candidate_ = socket;  // closes the one of an earlier attempt
  // async_connect opens the socket; an error in that is reported like one of connecting.
  socket->async_connect(there, [self = shared_from_this(),
                                weak = std::weak_ptr(socket)](const std::error_code& error) {
    const auto connecting = weak.lock();
    if (!self->fabric_ || !connecting || self->candidate_ != connecting) {
      return;
    }
    if (error) {
      self->not_connected(error);
    } else {
      self->connected();
    }
  });
}

void TcpFabric::Outgoing::not_connected(const std::error_code& error) {
  candidate_.reset();
  if (is_local()) {
    endpoint_.local.clear();  // it is on another machine: use TCP
    connect();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::kConnecting || (repeats_ && is_unreachable(error))) {
      return;  // check() tries again
    }
  }
  broke(fmt::format("cannot reach {} at {}:{}: {}", name_of(peer_), endpoint_.host, endpoint_.port,
                    error.message()));
}

void TcpFabric::Outgoing::connected() {
  Socket socket = std::move(*candidate_);
  candidate_.reset();
  std::error_code ignored;
  if (!is_local()) {
    socket.set_option(tcp::no_delay(true), ignored);
  }
  if (!is_local() && fabric_->stuck_after_ > 0) {
    retransmit_often(socket.native_handle(), fabric_->stuck_after_);
  }
  enlarge_send_buffer(socket.native_handle());
  keep_from_children(socket.native_handle());
  socket.native_non_blocking(true, ignored);
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::kConnecting) {
      over_tcp_ = !is_local();
      state_ = State::kOpen;
      open(std::move(socket), std::move(queue_));
    } else if (state_ == State::kOpen) {
      go_over_to(std::move(socket));
    }
  }
  flush();
}

void TcpFabric::Outgoing::go_over_to(Socket socket) {
  sent_.acknowledge(acknowledged());
  if (!sent_.can_be_repeated()) {
    return;
  }
  std::deque<OutgoingFrame> frames = sent_.take();
  for (OutgoingFrame& frame : queue_) {
    if (frame.numbered) {
      frame.sent = 0;
      frames.push_back(std::move(frame));
    }
  }
  retire(std::move(socket_));
  open(std::move(socket), std::move(frames));
}

void TcpFabric::Outgoing::open(Socket socket, std::deque<OutgoingFrame> frames) {
  socket_ = std::move(socket);
  ++connections_;
  waits_for_room_ = false;
  written_ = 0;
  last_look_ = 0;
  Message hello = hello_;
  hello.header.b = sent_.first_number();
  queue_ = std::move(frames);
  queue_.push_front({encode_head(FrameKind::kHello, hello), hello.payload});
}

// The peer must not see the end of the old connection before it has seen the new one, so this side
// leaves the old one open until the peer closes it.
void TcpFabric::Outgoing::retire(Socket socket) {
  auto old = std::make_shared<Socket>(std::move(socket));
  retired_.push_back(old);
  old->async_wait(asio::socket_base::wait_read,
                  [self = shared_from_this(), weak = std::weak_ptr(old)](const std::error_code&) {
                    const auto ended = weak.lock();
                    if (self->fabric_ && ended && was_closed_by_peer(ended->native_handle())) {
                      std::erase(self->retired_, ended);
                    }
                  });
}

void TcpFabric::Outgoing::check() {
  if (!fabric_) {
    return;
  }
  bool tries = false;
  {
    std::lock_guard lock(mutex_);
    if (!std::exchange(repeats_, true) && over_tcp_) {
      retransmit_often(socket_.native_handle(), fabric_->stuck_after_);
    }
    if (state_ == State::kOpen && shows_life()) {
      quiet_ticks_ = 0;
      candidate_.reset();
      return;
    }
    ++quiet_ticks_;
    const bool in_doubt = state_ == State::kConnecting || quiet_ticks_ >= kTicksToDoubt;
    const bool can = state_ == State::kConnecting || (over_tcp_ && sent_.can_be_repeated());
    tries = can && in_doubt && retired_.size() < kMaxRetired && state_ != State::kDead;
  }
  if (quiet_ticks_ >= fabric_->ticks_to_loss(peer_)) {
    const Rank peer = peer_;
    fabric_->lose(peer, fabric_->silence_of(peer));
  } else if (tries && !is_local() && quiet_ticks_ % kTicksOfAttempt == 0) {
    connect();
  }
}

// What the peer has acknowledged, or, in a local socket, has read.
std::uint64_t TcpFabric::Outgoing::acknowledged() const {
  int waiting = 0;
  ioctl(const_cast<Socket&>(socket_).native_handle(), SIOCOUTQ, &waiting);
  return written_ - static_cast<std::uint64_t>(waiting);
}

bool TcpFabric::Outgoing::shows_life() {
  const std::uint64_t now = acknowledged();
  // A local socket counts what its buffers take, which is more than what was written.
  const auto look = static_cast<std::int64_t>(now);
  const bool news = now == written_ || look > last_look_;
  last_look_ = look;
  if (over_tcp_) {
    sent_.acknowledge(now);
  }
  return news;
}

void TcpFabric::Outgoing::send(FrameKind kind, const Message& message) {
  std::lock_guard lock(mutex_);
  const bool is_pulse = kind == FrameKind::kPulse;
  if (state_ == State::kDead || (is_pulse && (state_ != State::kOpen || !queue_.empty()))) {
    return;  // what is queued is a sign of life as well
  }
  OutgoingFrame frame{encode_head(kind, message), message.payload, !is_pulse};
  if (state_ == State::kOpen && queue_.empty()) {
    if (!write_some(frame)) {
      state_ = State::kDead;
      asio::post(driver_.io(), [self = shared_from_this()] { self->flush(); });
      return;
    }
    if (frame.is_sent()) {
      note_sent(std::move(frame));
      return;
    }
    asio::post(driver_.io(), [self = shared_from_this()] { self->wait_for_room(); });
  }
  frame.payload = frame.payload.kept();
  queue_.push_back(std::move(frame));
}

void TcpFabric::Outgoing::note_sent(OutgoingFrame frame) {
  if (over_tcp_ && frame.numbered) {
    sent_.add(std::move(frame), repeats_, written_);
    if (sent_.is_large()) {
      sent_.acknowledge(acknowledged());
    }
  }
}

bool TcpFabric::Outgoing::idle() {
  std::lock_guard lock(mutex_);
  return state_ == State::kDead || (state_ == State::kOpen && queue_.empty());
}

void TcpFabric::Outgoing::shut() {
  fabric_ = nullptr;
  candidate_.reset();
  retired_.clear();
  std::lock_guard lock(mutex_);
  state_ = State::kDead;
  queue_.clear();
  sent_ = {};
  std::error_code ignored;
  socket_.close(ignored);
}

void TcpFabric::Outgoing::flush() {
  if (!fabric_) {
    return;
  }
  bool whole = false;
  {
    std::lock_guard lock(mutex_);
    whole = state_ == State::kOpen && write_queue();
    if (whole && !queue_.empty()) {
      asio::post(driver_.io(), [self = shared_from_this()] { self->wait_for_room(); });
    }
  }
  if (!whole) {
    broke(fmt::format("the connection to {} broke", name_of(peer_)));
  }
}

bool TcpFabric::Outgoing::write_queue() {
  while (!queue_.empty()) {
    OutgoingFrame& first = queue_.front();
    if (!write_some(first)) {
      return false;
    }
    if (!first.is_sent()) {
      return true;  // the socket is full
    }
    note_sent(std::move(first));
    queue_.pop_front();
  }
  return true;
}

bool TcpFabric::Outgoing::write_some(OutgoingFrame& frame) {
  while (!frame.is_sent()) {
    const std::size_t of_head = std::min(frame.sent, kFrameBytes);
    const auto payload = frame.payload.bytes().subspan(frame.sent - of_head);
    iovec parts[2] = {
        {frame.head.data() + of_head, kFrameBytes - of_head},
        {const_cast<std::byte*>(payload.data()), payload.size()},
    };
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t count = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    frame.sent += static_cast<std::size_t>(count);
    written_ += static_cast<std::uint64_t>(count);
  }
  return true;
}

void TcpFabric::Outgoing::wait_for_room() {
  if (!fabric_) {
    return;
  }
  std::lock_guard lock(mutex_);
  if (state_ != State::kOpen || waits_for_room_) {
    return;
  }
  waits_for_room_ = true;
  socket_.async_wait(asio::socket_base::wait_write,
                     [self = shared_from_this(), which = connections_](const std::error_code&) {
                       {
                         std::lock_guard room(self->mutex_);
                         if (self->connections_ != which) {
                           return;  // of a connection that was replaced
                         }
                         self->waits_for_room_ = false;
                       }
                       self->flush();
                     });
}

void TcpFabric::Outgoing::broke(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    state_ = State::kDead;
    queue_.clear();
    sent_ = {};
    std::error_code ignored;
    socket_.close(ignored);
  }
  candidate_.reset();
  fabric_->broke(peer_, *this, reason);
}

}  // namespace motley
