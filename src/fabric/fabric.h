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
  // At most once per peer, and again after reconnect(). `reason` is a message for the user.
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

  // This peer is gone for good: its connections are closed, what it still sends is dropped,
  // on_peer_lost() is not called for it any more (a call that has begun may still end), and
  // messages to it are dropped. Thread-safe. Numbers of peers are never reused.
  virtual void drop_peer(Rank peer) = 0;

  // After on_peer_lost(peer): the peer is to be reached again from the term `term` on. Forgets that
  // it was lost: the next send makes a new connection, and a new connection from it is accepted in
  // place of the old one. What is queued for it is dropped, and so are messages of earlier terms
  // that it or this process still sends. Control messages belong to no term. Thread-safe;
  // idempotent. Both sides call it. If only one side has lost the other, the new connection tells
  // the other side, by on_peer_lost() unless it has called reconnect() already.
  virtual void reconnect(Rank peer, std::uint16_t term) = 0;

  // Any thread, called about five times per heartbeat: sends a small frame over each open
  // connection, so that both sides know that it is alive. The receiver's sink never sees it.
  virtual void pulse() = 0;

  // A connection on which the other side shows no sign of life for so long is lost. Signs are: data
  // or pulses that arrive, and data that the other machine acknowledges. A peer that has never sent
  // a pulse may be silent. Time in which this process could not run does not count, and what has
  // arrived is read first. Off until called; 0 switches it off. Thread-safe.
  virtual void set_stuck_after(double seconds) = 0;

  // Says goodbye to all peers and waits at most `patience` seconds for queued messages to go out.
  virtual void close(double patience) = 0;

  // Bytes of frames and payloads handed to send() for other workers.
  virtual std::int64_t bytes_sent() const = 0;
};

}  // namespace motley
