// Node: all that a protocol can touch. Read this first.
//
// A protocol (one worker's side of a method, a controller, a server) is an ordinary blocking C++
// function over a Node, written like the pseudo-code of its paper:
//
//   node.busy(cost, [&] { loss = replica.compute(samples); });
//   node.send(right, Channel::kAllReduce, {.tag = step}, Payload::borrow(chunk));
//   Message m = node.receive({Channel::kAllReduce, left});
//
// There are two kinds of Node, and protocol code cannot tell them apart:
//   runtime/worker/real_node.h   a thread; messages cross sockets; time is the steady clock
//   sim/cluster.h         a fiber on a virtual clock; one thread, any number of nodes,
//   deterministic
//
// Rules for protocol code: no clock, thread, socket, file, global or torch call of its own; no lock
// held across a Node call; no Node call inside a catch block (the simulator switches stacks there);
// every Replica call inside busy().
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "motley/base/ids.h"
#include "motley/node/message.h"

namespace motley {

// The one exception of Node calls: this node cannot go on as it was. `peer` is the rank that was
// lost, or kAnyRank when the whole run stops. what() is the reason, fit for a person.
class Interrupted : public std::runtime_error {
 public:
  Interrupted(Rank peer, const std::string& reason) : std::runtime_error(reason), peer_(peer) {}
  Rank peer() const { return peer_; }

 private:
  Rank peer_;
};

class Node {
 public:
  virtual ~Node() = default;

  virtual Rank rank() const = 0;
  // The number of workers; the coordinator and servers do not count.
  virtual int size() const = 0;
  // Seconds since the run began. Clocks of real nodes on different machines are not aligned.
  virtual Seconds now() const = 0;

  // Never waits for the receiver. Order is kept per (sender, receiver). A borrowed payload is the
  // caller's again when send returns. A message to a lost peer is dropped. Throws Interrupted only
  // when the run stops.
  virtual void send(Rank to, Channel channel, Header header, Payload payload = {}) = 0;

  // Waits for the oldest message that matches. Throws Interrupted when the run stops, or when none
  // can come any more: the peer is lost (receive from one), or a peer is lost that was not
  // forgotten (receive from any). What had arrived before is still handed out first.
  Message receive(Match match) { return *receive_until(match, kForever); }
  // As receive, but gives up at the moment `deadline` of this node's clock: nullopt.
  virtual std::optional<Message> receive_until(Match match, Seconds deadline) = 0;

  // The caller goes on without a lost peer: receives from any no longer throw because of it.
  virtual void forget(Rank peer) = 0;

  // Computing: runs `body` and makes it last. On a free machine nothing more, in the simulator
  // exactly `cost`, on a paced one as well: there `cost` pays for bodies without one that ran
  // before it, too, but cannot make a body shorter. An exception of the body comes out here.
  virtual void busy(Seconds cost, const std::function<void()>& body) = 0;

  // Waits until `duration` has passed. Throws Interrupted when the run stops.
  virtual void sleep(Seconds duration) = 0;

  // Starts another activity of this rank: it shares rank, clock and mailbox, and runs beside its
  // parent. Give it a channel of its own. The run ends when all activities have returned; an
  // exception that leaves one stops the run with that reason.
  virtual void spawn(std::string name, std::function<void(Node&)> body) = 0;

  static constexpr Seconds kForever = 1e18;
};

}  // namespace motley
