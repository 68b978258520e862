// Fabric: carries messages between processes.
//
// A fabric keeps the order per (sender, receiver), never makes a sender wait for a receiver, and
// tells its sink about every message and every lost peer.
#pragma once

#include <cstdint>
#include <string>

#include "motley/node/message.h"

namespace motley {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string local = {};  // name of a socket for peers on the same machine
};

// Calls come one at a time, from whichever thread drives the fabric.
class FabricSink {
 public:
  virtual ~FabricSink() = default;
  virtual void on_message(Message message) = 0;
  // At most once per peer and connection. `reason` is a message for the user.
  virtual void on_peer_lost(Rank peer, const std::string& reason) = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Says where a peer listens. The connection is made at the first send to it.
  virtual void set_peer(Rank peer, const Endpoint& endpoint) = 0;

  // Thread-safe. A borrowed payload may be changed again on return: what the system does not accept
  // at once is copied. Messages to an unknown or lost peer are dropped.
  virtual void send(Rank to, const Message& message) = 0;

  // Says goodbye to all peers and waits at most `patience` seconds for queued messages to go out.
  virtual void close(double patience) = 0;

  // Bytes of frames and payloads handed to send() for other workers.
  virtual std::int64_t bytes_sent() const = 0;
};

}  // namespace motley
