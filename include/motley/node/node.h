// Node: everything that a protocol may use: messages, time, computing. Read this file first.
//
// A protocol (a worker's side of a method, a service on the coordinator, a server) is an ordinary
// blocking C++ function that is given a Node. It reads like the pseudo-code of its paper:
//
//   node.busy(cost, [&] { loss = replica.compute(samples); });
//   node.send(right, Channel::kMethod, {.tag = step}, Payload::borrow(chunk));
//   Message m = node.receive({Channel::kMethod, left});
//   node.process(bytes, [&] { average(chunk, m.payload); });
//
// There are two kinds of Node, and protocol code cannot tell them apart:
//   RealNode (runtime/worker/real_node.h)   a thread, sockets, the steady clock
//   SimCluster (sim/cluster.h)              a fiber on a virtual clock; all nodes share one thread,
//                                           and everything happens in the same order each time
//
// Rules for protocol code:
// - Use no clock, thread, socket, file, global variable or torch function directly.
// - Hold no lock during a Node call.
// - Make no Node call in a catch block: the simulator switches stacks in Node calls.
// - Call a Replica only inside busy() or process().
//
// Thread rule: an activity (the protocol function, or a function it spawned) uses only the Node
// that it was given, and only on its own thread or fiber. Failure: blocking calls and send() throw
// Interrupted when the run stops. A protocol normally does not catch it.
#pragma once

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>

#include "motley/base/ids.h"
#include "motley/node/message.h"

namespace motley {

// The only exception that Node calls throw themselves. peer() is the rank that was lost, or
// kAnyRank if the whole run stops. what() is the reason, readable by a user.
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
  // The number of workers. The coordinator and servers are not counted.
  virtual int size() const = 0;
  // Seconds since the run began. Does not block. Clocks of real nodes are aligned to the
  // coordinator's when they join; between machines an error of up to half a round trip remains.
  virtual Seconds now() const = 0;

  // Sends a message. Does not wait for the receiver. Messages from one sender to one receiver
  // arrive in order. A borrowed payload may be changed again as soon as send() returns. A message
  // to a lost peer is dropped silently. Throws Interrupted only if the run stops.
  virtual void send(Rank to, Channel channel, Header header, Payload payload = {}) = 0;

  // Blocks until a message matches, and returns the oldest one; the caller owns it. If no matching
  // message has arrived, throws Interrupted when the run stops or when none can come any more: the
  // given peer is lost, or (with kAnyRank) some peer is lost that the caller did not forget().
  Message receive(Match match) { return *receive_until(match, kForever); }
  // Like receive(), but returns nullopt when this node's clock reaches `deadline`.
  virtual std::optional<Message> receive_until(Match match, Seconds deadline) = 0;

  // Declares that the caller continues without a lost peer: receiving from kAnyRank no longer
  // throws because of it. Does not block.
  virtual void forget(Rank peer) = 0;

  // Computes: runs `body`, and makes it last `cost` seconds.
  // - A simulated node runs `body` and advances its clock by exactly `cost`.
  // - A paced real node (cluster.unit > 0) sleeps until `cost` seconds have passed since `body`
  //   began. Time spent in preceding calls with cost 0 counts as passed. A body that takes longer
  //   is not cut short.
  // - An unpaced real node only runs `body`.
  // Rethrows what `body` throws; throws Interrupted if the run stops meanwhile. `body` must not
  // make blocking Node calls.
  virtual void busy(Seconds cost, const std::function<void()>& body) = 0;

  // Processes numbers that are sent or received: adds, averages, encodes, copies them. Runs `body`,
  // which reads and writes about `bytes` bytes of memory, and returns when it is done. A real node
  // takes as long as that takes, in addition to what busy() takes. A simulated node advances its
  // clock by `bytes` / cluster.memory_bandwidth; other activities of the rank go on meanwhile.
  // Rethrows what `body` throws; may throw Interrupted if the run stops meanwhile. `body` must not
  // make blocking Node calls.
  virtual void process(std::size_t bytes, const std::function<void()>& body) = 0;

  // Blocks for `duration` seconds. Throws Interrupted if the run stops.
  virtual void sleep(Seconds duration) = 0;

  // Starts a further activity of this rank and returns at once. It runs concurrently and shares the
  // rank, clock and mailbox, so it should receive on a channel of its own. The run ends when all
  // activities have returned; an exception that leaves an activity stops the run with that reason.
  virtual void spawn(std::string name, std::function<void(Node&)> body) = 0;

  static constexpr Seconds kForever = 1e18;
};

}  // namespace motley
