// SimCluster: workers and a coordinator as fibers on a virtual clock, behind a simulated network.
//
//   SimCluster cluster(job.cluster);
//   cluster.start(kCoordinator, [&](Node& node) { ... });
//   for (Rank rank = 0; rank < workers; ++rank) {
//     cluster.start(rank, [&](Node& node) { train(node, ...); });
//   }
//   cluster.run();
//
// Bodies are the product's own protocol code: they see a Node (motley/node/node.h) and cannot tell
// that their seconds are virtual. Everything runs on the thread that calls run(), and the same
// inputs give the same order of events, always. There is no global state: any number of clusters
// may live in a process, on one thread or on several.
//
// What a fiber may use of its stack is 64 KiB. Bodies given to Node::busy() run on the stack of the
// caller of run(), so that they may be as deep as they like; they must not make a Node call that
// blocks.
//
// Cost: a message is two events, together with its fiber switch 0.2 us of real time among 16
// workers and 0.5 us among thousands. A fiber holds one or two pages of memory until its stack
// grows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "cluster/link.h"
#include "motley/base/ids.h"
#include "motley/cluster/spec.h"
#include "motley/node/node.h"

namespace motley {

// Every activity waits for a message and none is under way. what() names who waits for what.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class SimCluster {
 public:
  // Uses workers, latency and bandwidths of the spec; no bandwidth at all means unlimited. Speeds
  // and slowdowns are the CostModel's, which tells Node::busy() how long to take. Servers have the
  // ranks behind the workers'.
  explicit SimCluster(const ClusterSpec& spec, int servers = 0);
  ~SimCluster();

  // `body` becomes an activity of `rank` (a worker, a server or kCoordinator) when run() is called,
  // or at once when it is under way. Bodies begin in the order in which they were started.
  void start(Rank rank, std::function<void(Node&)> body);

  // Returns when every activity has returned. An exception that leaves one stops the others, and
  // is thrown here once all are unwound; so is Deadlock. Exceptions of a failed rank do not count.
  void run();

  // Blocked and later Node calls throw Interrupted with this reason. To be called on the thread of
  // run(): by a body, or between runs.
  void stop(const std::string& reason);

  // A rank may live through several terms, one after the other, on the same clock and network.
  // Ends the term that it is in: blocked and later Node calls of its activities throw Interrupted
  // with this reason; one that then leaves an activity counts as its return.
  void end_term(Rank rank, const std::string& reason);
  // `body` begins the rank's next term, at the moment when all of its activities have returned (at
  // once if it has none), with an empty mailbox. Lost peers stay lost. Messages that are still
  // under way arrive in the new term. Several bodies follow each other. No term follows a stop or
  // the rank's own failure.
  void next_term(Rank rank, std::function<void(Node&)> body);

  // At the virtual moment `at` (now, if that has passed) the rank is cut off: its activities are
  // unwound with Interrupted, what has not left its uplink is lost, what has left arrives. The
  // others learn of it one latency later, behind the last message that still arrives.
  void fail(Rank rank, Seconds at, std::string reason);

  // Asked every few dozen events of run(), so it should be cheap: the value of an atomic flag. True
  // stops the run with the reason "interrupted".
  void poll(std::function<bool()> stop_requested);

  // For traffic that is worked out ahead instead of sent (sync/ring_meeting.h): a rank's link, as
  // it is and to be left as that traffic leaves it; and a message that is there at the moment `at`,
  // which has not passed, without crossing one.
  Link& link(Rank rank);
  void deliver(Rank to, Seconds at, Message message);

  // The virtual time.
  Seconds now() const;
  // Events processed: arrivals at a link and in a mailbox, ends of busy and sleep, deadlines.
  std::uint64_t events() const;
  // What a rank has put on its uplink: payloads and their frames.
  std::uint64_t bytes_sent(Rank rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
