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
#include <vector>

#include "fabric/frame.h"
#include "fabric/sent_frames.h"
#include "fabric/tcp.h"

namespace motley {

std::string name_of(Rank rank);

// Larger socket buffers let a whole segment leave in one call, on systems that allow them.
// Elsewhere the kernel's automatic size is better than a small fixed one.
void enlarge_send_buffer(int socket);
void enlarge_receive_buffer(int socket);
// A connection ends when it is closed here, also if this process has started others meanwhile.
void keep_from_children(int socket);

// Signs of life are looked for in ticks (TcpFabric::tick). A tick that comes late, because this
// process was stopped or the machine is busy, only makes it more patient.
inline constexpr int kTicksToLoss = 20;    // of set_stuck_after()
inline constexpr int kTicksToDoubt = 5;    // then it tries another connection
inline constexpr int kTicksOfAttempt = 2;  // for each attempt

// The way to one peer: a stream of frames over one connection, or over several if one gets stuck.
// Frames are sent on the caller's thread while the kernel accepts them; the rest is queued.
//
// TCP waits twice as long before each retransmission, so after packets have vanished for a while it
// waits about that long again. A new connection gets through at once: it begins with the first
// frame that the peer's machine has not acknowledged, and the peer drops what it has already.
class TcpFabric::Outgoing : public std::enable_shared_from_this<Outgoing> {
 public:
  // `hello`: without the number of the first frame.
  Outgoing(TcpFabric& fabric, Rank peer, Endpoint endpoint, Message hello);

  void connect();                                     // driving thread
  void check();                                       // driving thread, every tick
  void send(FrameKind kind, const Message& message);  // any thread
  bool idle();                                        // thread-safe: nothing is queued
  void shut();  // driving thread: afterwards it never touches the fabric

 private:
  using Socket = asio::generic::stream_protocol::socket;
  enum class State { kConnecting, kOpen, kDead };

  // Tries the local socket first, if the peer has one, then TCP.
  void attempt(const asio::generic::stream_protocol::endpoint& there);
  void not_connected(const std::error_code& error);
  void connected();
  bool is_local() const { return !endpoint_.local.empty(); }
  std::string where() const;
  // Call these with mutex_ held.
  void begin_with(Socket socket);  // a connection
  void go_over_to(Socket socket);  // the same stream on another connection
  void open(Socket socket, std::deque<OutgoingFrame> frames);
  void retire(Socket socket);
  bool write_queue();  // false if the connection broke
  bool write_some(OutgoingFrame& frame);
  void note_sent(OutgoingFrame frame);
  std::uint64_t acknowledged() const;  // bytes of this connection
  bool shows_life();

  void flush();
  void wait_for_room();
  void broke(const std::string& reason);

  TcpFabric* fabric_;  // null once shut; driving thread only
  Driver& driver_;
  const Rank peer_;
  // Driving thread only:
  Endpoint endpoint_;
  std::shared_ptr<Socket> candidate_;             // is being connected
  std::vector<std::shared_ptr<Socket>> retired_;  // until the peer has closed them
  int quiet_ticks_ = 0;

  std::mutex mutex_;  // guards what follows
  const Message hello_;
  State state_ = State::kConnecting;
  Socket socket_;
  bool over_tcp_ = false;
  bool repeats_;  // keeps what is sent over TCP until it is acknowledged
  bool waits_for_room_ = false;
  int connections_ = 0;
  std::uint64_t written_ = 0;        // bytes, over this connection
  std::int64_t last_look_ = 0;       // what had been acknowledged
  std::deque<OutgoingFrame> queue_;  // of the first, a part may be sent
  SentFrames sent_;
};

// A connection from a peer that has not identified itself yet. Driving thread only.
class TcpFabric::Incoming : public std::enable_shared_from_this<Incoming> {
 public:
  Incoming(TcpFabric& fabric, asio::generic::stream_protocol::socket socket);

  void start();
  void check();  // every tick
  // Reads what has arrived, without noticing the end of the connection.
  void drain();
  void shut();

 private:
  enum class Ends { kAreNoticed, kAreIgnored };

  void wait();
  // False if the connection has ended.
  bool read(int times, Ends ends);
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
  Stream* stream_ = nullptr;      // of the peer, once it is known
  std::int64_t next_number_ = 1;  // of the next frame of the stream
  bool reading_ = false;
  int quiet_ticks_ = 0;
};

}  // namespace motley
