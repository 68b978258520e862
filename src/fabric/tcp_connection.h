// The two kinds of connection of a TcpFabric (tcp.h): one only sends, the other only receives.
// Private to fabric/tcp*.cc.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "fabric/frame.h"
#include "fabric/tcp.h"

namespace motley {

std::string name_of(Rank rank);

// Larger socket buffers let a whole segment leave in one call, on systems that allow them.
// Elsewhere the kernel's automatic size is better than a small fixed one.
void enlarge_send_buffer(int socket);
void enlarge_receive_buffer(int socket);

// A connection to one peer. Frames are sent on the caller's thread while the kernel accepts them;
// the rest is queued.
class TcpFabric::Outgoing : public std::enable_shared_from_this<Outgoing> {
 public:
  Outgoing(TcpFabric& fabric, Rank peer, Endpoint endpoint);

  void connect();                                     // driving thread
  void send(FrameKind kind, const Message& message);  // any thread
  bool idle();                                        // thread-safe: nothing is queued
  void shut();  // driving thread: afterwards it never touches the fabric

 private:
  // A frame, or the rest of one.
  struct Queued {
    FrameHead head;
    std::size_t head_sent = 0;
    Payload payload;
  };
  enum class State { kConnecting, kOpen, kDead };

  // Tries the local socket first, if the peer has one, then TCP.
  void connect_to(const asio::generic::stream_protocol::endpoint& there, bool local);
  void connected(const std::error_code& error);
  void flush();
  // Call with mutex_ held. False if the connection broke.
  bool write_queue();
  bool write_some(Queued& frame);
  void wait_for_room();
  void broke(const std::string& reason);

  TcpFabric* fabric_;  // null once shut; driving thread only
  Driver& driver_;
  const Rank peer_;
  Endpoint endpoint_;  // driving thread only

  std::mutex mutex_;  // guards what follows
  State state_ = State::kConnecting;
  asio::generic::stream_protocol::socket socket_;
  std::deque<Queued> queue_;
};

// A connection from a peer that has not identified itself yet. Driving thread only.
class TcpFabric::Incoming : public std::enable_shared_from_this<Incoming> {
 public:
  Incoming(TcpFabric& fabric, asio::generic::stream_protocol::socket socket);

  void start();
  void shut();
  std::optional<Rank> peer() const { return peer_; }

 private:
  void read();
  Status on_frame(Frame frame);
  Status on_hello(const Message& hello);
  // The peer or the network closed the connection.
  void closed(const std::error_code& error);
  // The peer violated frame.h: logs one line.
  void refuse(const std::string& reason);
  void end(const std::string& reason);

  TcpFabric* fabric_;  // null once shut
  asio::generic::stream_protocol::socket socket_;
  asio::steady_timer hello_timer_;
  FrameReader reader_;
  std::optional<Rank> peer_;
  bool said_bye_ = false;
};

}  // namespace motley
