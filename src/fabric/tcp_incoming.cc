#include <spdlog/spdlog.h>

#include <asio/buffer.hpp>
#include <chrono>

#include "fabric/tcp_connection.h"

namespace motley {

TcpFabric::Incoming::Incoming(TcpFabric& fabric, asio::generic::stream_protocol::socket socket)
    : fabric_(&fabric),
      socket_(std::move(socket)),
      hello_timer_(fabric.driver_.io()),
      reader_(kHelloPayloadLimit) {}

void TcpFabric::Incoming::start() {
  const std::chrono::duration<double> patience(fabric_->options_.hello_deadline_s);
  hello_timer_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(patience));
  hello_timer_.async_wait([self = shared_from_this()](const std::error_code& error) {
    if (!error && self->fabric_ && !self->peer_) {
      self->refuse("no hello in time");
    }
  });
  read();
}

void TcpFabric::Incoming::shut() {
  fabric_ = nullptr;
  hello_timer_.cancel();
  std::error_code ignored;
  socket_.close(ignored);
}

void TcpFabric::Incoming::read() {
  const auto space = reader_.space();
  const std::array<asio::mutable_buffer, 2> buffers = {
      asio::buffer(space[0].data(), space[0].size()),
      asio::buffer(space[1].data(), space[1].size())};
  socket_.async_read_some(
      buffers, [self = shared_from_this()](const std::error_code& error, std::size_t count) {
        if (!self->fabric_) {
          return;
        }
        if (error) {
          self->closed(error);
          return;
        }
        const Status status = self->reader_.filled(
            count, [&](Frame frame) { return self->on_frame(std::move(frame)); });
        if (!status) {
          self->refuse(status.error().message);
        } else if (self->fabric_) {
          self->read();
        }
      });
}

Status TcpFabric::Incoming::on_frame(Frame frame) {
  if (!peer_) {
    if (frame.kind != FrameKind::kHello) {
      return fail("the first frame is not a hello");
    }
    return on_hello(frame.message);
  }
  if (frame.message.from != *peer_) {
    return fail("a frame with the sender {}", name_of(frame.message.from));
  }
  switch (frame.kind) {
    case FrameKind::kHello:
      return fail("a second hello");
    case FrameKind::kBye:
      said_bye_ = true;
      break;
    case FrameKind::kMessage:
      fabric_->sink_.on_message(std::move(frame.message));
      break;
  }
  return {};
}

Status TcpFabric::Incoming::on_hello(const Message& hello) {
  const auto bytes = hello.payload.bytes();
  const std::string_view token(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (token != fabric_->options_.token) {
    return fail("wrong token: it does not belong to this run");
  }
  if (hello.header.tag != fabric_->options_.self || hello.from < kCoordinator) {
    return fail("it wanted {}, but this is {}", name_of(static_cast<Rank>(hello.header.tag)),
                name_of(fabric_->options_.self));
  }
  if (fabric_->hears(hello.from)) {
    return fail("{} is connected already", name_of(hello.from));
  }
  peer_ = hello.from;
  reader_.set_payload_limit(fabric_->options_.payload_limit);
  hello_timer_.cancel();
  return {};
}

void TcpFabric::Incoming::closed(const std::error_code& error) {
  if (error == asio::error::eof && reader_.in_frame()) {
    refuse("closed in the middle of a frame");
  } else {
    end(error.message());
  }
}

void TcpFabric::Incoming::refuse(const std::string& reason) {
  if (!fabric_->closing_) {
    spdlog::warn("connection from {} ended: {}", peer_ ? name_of(*peer_) : "an unknown peer",
                 reason);
  }
  end(reason);
}

void TcpFabric::Incoming::end(const std::string& reason) {
  TcpFabric& fabric = *fabric_;
  const auto self = shared_from_this();
  shut();
  fabric.incoming_.erase(self);
  if (said_bye_) {
    fabric.peer_lost(*peer_, fmt::format("{} has left the run", name_of(*peer_)));
  } else if (peer_) {
    fabric.peer_lost(*peer_,
                     fmt::format("the connection to {} broke: {}", name_of(*peer_), reason));
  }
}

}  // namespace motley
