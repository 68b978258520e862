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
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

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
  void close(double patience) override;
  std::int64_t bytes_sent() const override { return bytes_sent_; }

 private:
  class Outgoing;
  class Incoming;
  friend class Outgoing;
  friend class Incoming;

  std::shared_ptr<Outgoing> outgoing(Rank to);  // thread-safe
  // Driving thread only:
  template <class Acceptor>
  void accept(Acceptor& acceptor);
  void shut();
  bool hears(Rank peer) const;
  void peer_lost(Rank peer, const std::string& reason);

  Driver& driver_;
  FabricSink& sink_;
  const TcpOptions options_;
  asio::ip::tcp::acceptor acceptor_;
  asio::local::stream_protocol::acceptor local_acceptor_;
  Endpoint endpoint_;
  std::set<std::shared_ptr<Incoming>> incoming_;                // driving thread only
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // driving thread only

  std::mutex mutex_;  // guards the two maps
  std::map<Rank, Endpoint> endpoints_;
  std::map<Rank, std::shared_ptr<Outgoing>> outgoing_;

  std::atomic<std::int64_t> bytes_sent_ = 0;
  std::atomic<bool> closing_ = false;
};

}  // namespace motley
