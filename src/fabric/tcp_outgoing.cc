#include <sys/socket.h>
#include <sys/uio.h>

#include <asio/connect.hpp>
#include <asio/post.hpp>
#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "fabric/tcp_connection.h"

namespace motley {

using asio::ip::tcp;
using unix_domain = asio::local::stream_protocol;

TcpFabric::Outgoing::Outgoing(TcpFabric& fabric, Rank peer, Endpoint endpoint)
    : fabric_(&fabric),
      driver_(fabric.driver_),
      peer_(peer),
      endpoint_(std::move(endpoint)),
      socket_(driver_.io()) {}

void TcpFabric::Outgoing::connect() {
  if (!endpoint_.local.empty()) {
    connect_to(unix_domain::endpoint(std::string(1, '\0') + endpoint_.local), true);
    return;
  }
  std::error_code error;
  const auto address = asio::ip::make_address(endpoint_.host, error);
  if (error) {
    connected(error);
  } else {
    connect_to(tcp::endpoint(address, endpoint_.port), false);
  }
}

void TcpFabric::Outgoing::connect_to(const asio::generic::stream_protocol::endpoint& there,
                                     bool local) {
  std::lock_guard lock(mutex_);
  if (state_ == State::kDead) {
    return;
  }
  std::error_code ignored;
  socket_.close(ignored);
  // async_connect opens the socket; an error in that is reported like one of connecting.
  socket_.async_connect(there, [self = shared_from_this(), local](const std::error_code& outcome) {
    if (outcome && local && self->fabric_) {
      self->endpoint_.local.clear();  // it is on another machine: use TCP
      self->connect();
    } else {
      self->connected(outcome);
    }
  });
}

void TcpFabric::Outgoing::connected(const std::error_code& error) {
  if (!fabric_) {
    return;
  }
  {
    std::lock_guard lock(mutex_);
    if (!error) {
      std::error_code ignored;
      if (endpoint_.local.empty()) {
        socket_.set_option(tcp::no_delay(true), ignored);
      }
      enlarge_send_buffer(socket_.native_handle());
      socket_.native_non_blocking(true, ignored);
      state_ = State::kOpen;
    }
  }
  if (error) {
    broke(fmt::format("cannot reach {} at {}:{}: {}", name_of(peer_), endpoint_.host,
                      endpoint_.port, error.message()));
  } else {
    flush();
  }
}

void TcpFabric::Outgoing::send(FrameKind kind, const Message& message) {
  std::lock_guard lock(mutex_);
  if (state_ == State::kDead) {
    return;
  }
  Queued frame{encode_head(kind, message), 0, message.payload};
  if (state_ == State::kOpen && queue_.empty()) {
    if (!write_some(frame)) {
      state_ = State::kDead;
      asio::post(driver_.io(), [self = shared_from_this()] { self->flush(); });
      return;
    }
    if (frame.head_sent == kFrameBytes && frame.payload.size() == 0) {
      return;
    }
    asio::post(driver_.io(), [self = shared_from_this()] { self->wait_for_room(); });
  }
  frame.payload = frame.payload.kept();
  queue_.push_back(std::move(frame));
}

bool TcpFabric::Outgoing::idle() {
  std::lock_guard lock(mutex_);
  return state_ == State::kDead || (state_ == State::kOpen && queue_.empty());
}

void TcpFabric::Outgoing::shut() {
  fabric_ = nullptr;
  std::lock_guard lock(mutex_);
  state_ = State::kDead;
  queue_.clear();
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
    Queued& first = queue_.front();
    if (!write_some(first)) {
      return false;
    }
    if (first.head_sent < kFrameBytes || first.payload.size() > 0) {
      return true;  // the socket is full
    }
    queue_.pop_front();
  }
  return true;
}

bool TcpFabric::Outgoing::write_some(Queued& frame) {
  while (frame.head_sent < kFrameBytes || frame.payload.size() > 0) {
    const auto payload = frame.payload.bytes();
    iovec parts[2] = {
        {frame.head.data() + frame.head_sent, kFrameBytes - frame.head_sent},
        {const_cast<std::byte*>(payload.data()), payload.size()},
    };
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t sent = sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    const auto count = static_cast<std::size_t>(sent);
    const std::size_t of_head = std::min(count, kFrameBytes - frame.head_sent);
    frame.head_sent += of_head;
    frame.payload = frame.payload.from(count - of_head);
  }
  return true;
}

void TcpFabric::Outgoing::wait_for_room() {
  if (!fabric_) {
    return;
  }
  std::lock_guard lock(mutex_);
  if (state_ == State::kOpen) {
    socket_.async_wait(asio::socket_base::wait_write,
                       [self = shared_from_this()](const std::error_code&) { self->flush(); });
  }
}

void TcpFabric::Outgoing::broke(const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    state_ = State::kDead;
    queue_.clear();
    std::error_code ignored;
    socket_.close(ignored);
  }
  // Messages that the peer sent before may still arrive; the end of its connection reports the
  // loss.
  if (!fabric_->hears(peer_)) {
    fabric_->peer_lost(peer_, reason);
  }
}

}  // namespace motley
