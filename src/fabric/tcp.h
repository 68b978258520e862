// Fabric over TCP.
//
//   Driver driver;
//   TcpFabric fabric(driver, sink, {.self = 2, .token = token});
//   fabric.endpoint()                  where this process listens
//   fabric.set_peer(0, {"10.0.0.5", 4711});
//   fabric.send(0, message);
//
// One connection per direction: each side opens its own to send on. So two sides that connect at
// once need no agreement, and order per (sender, receiver) is that of TCP. A connection is accepted
// only with the run's token. A wrong token, a damaged frame or one over the limit ends that
// connection with one line in the log and has no other effect.
//
// A connection that gets stuck is replaced by another one, and nothing is lost (tcp_connection.h).
// A peer that is lost may come back: then a new stream begins (frame.h) and replaces the old one.
//
// Peers on one machine use Unix-domain sockets, which need about two thirds of TCP's work per byte;
// if the peer's socket is not found, TCP is used.
//
// Cost of a message: one system call to send (head and payload in one, no copy), one or two to
// receive into a pooled block. Sending happens on the caller's thread as long as the kernel accepts
// bytes; the driving thread sends the rest when the socket has room.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fabric/driver.h"
#include "fabric/fabric.h"
#include "fabric/frame.h"

namespace motley {

struct TcpOptions {
  Rank self = 0;
  std::string token = {};             // shared by all processes of the run
  std::string address = "127.0.0.1";  // where to listen
  std::uint16_t port = 0;             // 0 = any
  std::size_t payload_limit = kDefaultPayloadLimit;
  double hello_deadline_s = 5;  // a connection without a hello by then is closed
  // The coordinator may be silent for so many times longer than others (set_stuck_after).
  int patience_with_coordinator = 1;
};

class TcpFabric final : public Fabric {
 public:
  // Throws std::system_error if it cannot listen.
  TcpFabric(Driver& driver, FabricSink& sink, TcpOptions options);
  // No thread may drive or call send() any more.
  ~TcpFabric() override;

  // Where peers can reach this process.
  Endpoint endpoint() const { return endpoint_; }

  void set_peer(Rank peer, const Endpoint& endpoint) override;
  void send(Rank to, const Message& message) override;
  void drop_peer(Rank peer) override;
  void reconnect(Rank peer, std::uint16_t term) override;
  void pulse() override;
  void set_stuck_after(double seconds) override;
  void close(double patience) override;
  // Afterwards nothing is received and the sink is not called. Idempotent.
  void stop();
  std::int64_t bytes_sent() const override { return bytes_sent_; }

 private:
  class Outgoing;
  class Incoming;
  friend class Outgoing;
  friend class Incoming;

  // A peer, and what is sent to it.
  struct Link {
    std::optional<Endpoint> endpoint;
    std::shared_ptr<Outgoing> outgoing;  // from the first send on
    std::int64_t streams = 0;            // sent to it so far, this one included
    int reconnects = 0;
    std::uint16_t term = 0;  // of the last reconnect
    // Once reconnected: the latest term of its messages, or of those for it.
    std::optional<std::uint16_t> latest_in = {};
    std::optional<std::uint16_t> latest_out = {};
    bool lost = false;
    bool dropped = false;
  };
  // What comes from a peer.
  struct Stream {
    std::shared_ptr<Incoming> connection;  // null if it has ended
    std::int64_t number = 0;               // as in the hello
    std::int64_t frames = 0;               // so far
    std::uint16_t term = 0;
    int reconnects = 0;  // of the link when it began
    bool pulses = false;
    bool said_bye = false;
  };

  std::shared_ptr<Outgoing> outgoing(Rank to, const Message& message);  // thread-safe
  std::vector<std::shared_ptr<Outgoing>> all_outgoing();                // thread-safe
  // Driving thread only:
  template <class Acceptor>
  void accept(Acceptor& acceptor);
  void shut();
  // A connection said hello: which stream it begins or continues, or why it is refused.
  Result<Stream*> admit(Incoming& connection, const Message& hello);
  Status begin_stream(Stream& stream, const Message& hello);
  Status continue_stream(const Stream& stream, const Incoming& connection, const Message& hello);
  bool admits(const Message& message);
  bool hears(Rank peer) const;
  int ticks_to_loss(Rank peer) const;
  bool is_outdated(Rank peer, const Stream& stream);
  void disconnect(Stream& stream);
  // Of connections, when they end:
  void broke(Rank peer, const Outgoing& connection, const std::string& reason);
  void ended(Rank peer, Incoming& connection, const std::string& reason);
  void lose(Rank peer, const std::string& reason);
  std::string silence_of(Rank peer) const;
  void tick();

  Driver& driver_;
  FabricSink& sink_;
  const TcpOptions options_;
  asio::ip::tcp::acceptor acceptor_;
  asio::local::stream_protocol::acceptor local_acceptor_;
  Endpoint endpoint_;
  // Driving thread only:
  std::set<std::shared_ptr<Incoming>> incoming_;
  std::map<Rank, Stream> streams_;
  asio::steady_timer tick_timer_;
  bool ticks_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);

  std::mutex mutex_;  // guards links_
  std::map<Rank, Link> links_;

  std::atomic<std::int64_t> bytes_sent_ = 0;
  std::atomic<double> stuck_after_ = 0;
  std::atomic<bool> closing_ = false;
};

}  // namespace motley
