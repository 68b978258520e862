// Fabric: over what messages travel between processes.
//
// A fabric keeps order per (sender, receiver), never makes a sender wait for a receiver, and tells
// its sink of every message and of every peer that is gone.
#pragma once

#include <cstdint>
#include <string>

#include "motley/node/message.h"

namespace motley {

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  std::string local = {};  // name of a socket that peers on the same machine can use instead
};

// Calls come one at a time, from whichever thread drives the fabric.
class FabricSink {
 public:
  virtual ~FabricSink() = default;
  virtual void on_message(Message message) = 0;
  // At most once per peer and connection. `reason` is fit for a person.
  virtual void on_peer_lost(Rank peer, const std::string& reason) = 0;
};

class Fabric {
 public:
  virtual ~Fabric() = default;

  // Where a peer listens. A connection is made when something is first sent to it.
  virtual void set_peer(Rank peer, const Endpoint& endpoint) = 0;

  // Any thread. A borrowed payload is the caller's again on return; what cannot be handed to the
  // system at once is then copied. Dropped when the peer is unknown or gone.
  virtual void send(Rank to, const Message& message) = 0;

  // Says goodbye to all peers and hands over what is still queued, for at most `patience`.
  virtual void close(double patience) = 0;

  // Frames and payloads handed to send() for other workers, in bytes.
  virtual std::int64_t bytes_sent() const = 0;
};

}  // namespace motley
