// The side of a TcpFabric that receives: which connection carries which stream (frame.h).
#include <algorithm>
#include <utility>

#include "fabric/tcp_connection.h"

namespace motley {

Result<TcpFabric::Stream*> TcpFabric::admit(Incoming& connection, const Message& hello) {
  const Rank peer = hello.from;
  {
    std::lock_guard lock(mutex_);
    if (auto it = links_.find(peer); it != links_.end() && it->second.dropped) {
      return fail("{} does not belong to the run any more", name_of(peer));
    }
  }
  Stream& stream = streams_[peer];
  // What has arrived over the old connection comes before anything of the new one.
  if (const auto old = stream.connection) {
    old->drain();
  }
  const bool begins = hello.header.a > stream.number;
  const Status status =
      begins ? begin_stream(stream, hello) : continue_stream(stream, connection, hello);
  if (!status) {
    return tl::unexpected(status.error());
  }
  disconnect(stream);
  stream.connection = connection.shared_from_this();
  return &stream;
}

Status TcpFabric::begin_stream(Stream& stream, const Message& hello) {
  const Rank peer = hello.from;
  if (hello.header.b != 1) {
    return fail("its first message is number {}", hello.header.b);
  }
  if (stream.connection && !is_outdated(peer, stream)) {
    lose(peer, fmt::format("{} has lost this connection and made another one", name_of(peer)));
  }
  disconnect(stream);
  stream = {};
  stream.number = hello.header.a;
  stream.term = hello.term;
  std::lock_guard lock(mutex_);
  stream.reconnects = links_[peer].reconnects;
  return {};
}

Status TcpFabric::continue_stream(const Stream& stream, const Incoming& connection,
                                  const Message& hello) {
  const auto has_gap = [&] { return hello.header.b > stream.frames + 1; };
  // Other connections of this stream may wait to be read: they were made before this one.
  const auto all = incoming_;
  for (const auto& other : all) {
    if (has_gap() && other.get() != &connection) {
      other->drain();
    }
  }
  if (hello.header.a != stream.number || !stream.connection) {
    return fail("{} was lost, or has made another connection", name_of(hello.from));
  }
  if (hello.header.b < 1 || has_gap()) {
    return fail("messages are missing: {} came, the next is number {}", stream.frames,
                hello.header.b);
  }
  return {};
}

bool TcpFabric::hears(Rank peer) const {
  const auto it = streams_.find(peer);
  return it != streams_.end() && it->second.connection;
}

void TcpFabric::disconnect(Stream& stream) {
  if (const auto connection = std::exchange(stream.connection, nullptr)) {
    incoming_.erase(connection);
    connection->shut();
  }
}

void TcpFabric::ended(Rank peer, Incoming& connection, const std::string& reason) {
  Stream& stream = streams_[peer];
  if (stream.connection.get() != &connection) {
    return;
  }
  const bool outdated = is_outdated(peer, stream);
  const bool said_bye = stream.said_bye;
  disconnect(stream);
  if (!outdated) {
    lose(peer, said_bye ? fmt::format("{} has left the run", name_of(peer))
                        : fmt::format("the connection to {} broke: {}", name_of(peer), reason));
  }
}

}  // namespace motley
