#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "fabric/tcp_connection.h"

namespace motley {
namespace {

// Then others get their turn.
constexpr int kReadsAtOnce = 16;
constexpr int kAllReads = 1 << 20;

// The result of one read into this space: as of recvmsg().
ssize_t read_into(int socket, const std::array<std::span<std::byte>, 2>& space) {
  iovec parts[2] = {{space[0].data(), space[0].size()}, {space[1].data(), space[1].size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  ssize_t count = 0;
  do {
    count = recvmsg(socket, &message, MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  return count;
}

}  // namespace

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
  wait();
}

void TcpFabric::Incoming::check() {
  if (!fabric_ || !peer_) {
    return;
  }
  ++quiet_ticks_;
  const bool goes_on = read(kReadsAtOnce, Ends::kAreNoticed);
  if (goes_on && stream_->pulses && quiet_ticks_ >= fabric_->ticks_to_loss(*peer_)) {
    fabric_->lose(*peer_, fabric_->silence_of(*peer_));
  }
}

void TcpFabric::Incoming::drain() {
  if (fabric_) {
    read(kAllReads, Ends::kAreIgnored);
  }
}

void TcpFabric::Incoming::shut() {
  fabric_ = nullptr;
  hello_timer_.cancel();
  std::error_code ignored;
  socket_.close(ignored);
}

// Waits and reads in two calls, so that no bytes are on their way to the reader between handlers
// and drain() can be called from any of them.
void TcpFabric::Incoming::wait() {
  socket_.async_wait(asio::socket_base::wait_read,
                     [self = shared_from_this()](const std::error_code& error) {
                       if (!self->fabric_) {
                         return;
                       }
                       if (error) {
                         self->closed(error);
                       } else if (self->read(kReadsAtOnce, Ends::kAreNoticed)) {
                         self->wait();
                       }
                     });
}

bool TcpFabric::Incoming::read(int times, Ends ends) {
  if (reading_) {
    return true;  // called from a handler of a frame
  }
  reading_ = true;
  const auto self = shared_from_this();
  bool full = true;
  for (int i = 0; i < times && full && fabric_; ++i) {
    const auto space = reader_.space();
    const ssize_t count = read_into(socket_.native_handle(), space);
    full = count == static_cast<ssize_t>(space[0].size() + space[1].size());
    if (count > 0) {
      quiet_ticks_ = 0;
      const Status status = reader_.filled(static_cast<std::size_t>(count),
                                           [&](Frame frame) { return on_frame(std::move(frame)); });
      if (!status && fabric_) {
        refuse(status.error().message);
      }
    } else if (ends == Ends::kAreNoticed && (count == 0 || (errno != EAGAIN))) {
      closed(count == 0 ? std::error_code(asio::error::eof)
                        : std::error_code(errno, std::system_category()));
    }
  }
  reading_ = false;
  return fabric_ != nullptr;
}

Status TcpFabric::Incoming::on_frame(Frame frame) {
  if (!peer_) {
    return frame.kind == FrameKind::kHello ? on_hello(frame.message)
                                           : fail("the first frame is not a hello");
  }
  if (!fabric_) {
    return fail("the connection has ended");
  }
  if (frame.message.from != *peer_) {
    return fail("a frame with the sender {}", name_of(frame.message.from));
  }
  if (frame.kind == FrameKind::kHello) {
    return fail("a second hello");
  }
  if (frame.kind == FrameKind::kPulse) {
    stream_->pulses = true;
    return {};
  }
  if (next_number_++ <= stream_->frames) {
    return {};  // it has come over an earlier connection
  }
  ++stream_->frames;
  if (frame.kind == FrameKind::kBye) {
    stream_->said_bye = true;
  } else if (fabric_->admits(frame.message)) {
    fabric_->sink_.on_message(std::move(frame.message));
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
  const auto stream = fabric_->admit(*this, hello);
  if (!stream) {
    return tl::unexpected(stream.error());
  }
  stream_ = *stream;
  peer_ = hello.from;
  next_number_ = hello.header.b;
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
  const auto self = shared_from_this();
  TcpFabric& fabric = *fabric_;
  if (peer_) {
    fabric.ended(*peer_, *this, reason);
  } else {
    fabric.incoming_.erase(self);
    shut();
  }
}

}  // namespace motley
