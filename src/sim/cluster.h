// SimCluster: workers and a coordinator as fibers on a virtual clock, behind a simulated network.
//
//   SimCluster cluster(job.cluster);
//   cluster.start(kCoordinator, [&](Node& node) { ... });
//   for (Rank rank = 0; rank < workers; ++rank) {
//     cluster.start(rank, [&](Node& node) { train(node, ...); });
//   }
//   cluster.run();
//
// Bodies are the same protocol code as in real runs: they see a Node (motley/node/node.h) and
// cannot tell that time is virtual. Everything runs on the thread that calls run(), and the same
// inputs always give the same order of events. There is no global state: a process may have any
// number of clusters, on one thread or on several.
//
// A fiber has 64 KiB of stack. Bodies given to Node::busy() and Node::process() run on the stack of
// run()'s caller instead, so they may use as much as they need, but they must not make a Node call
// that blocks.
//
// Cost: a message is two events; with its fiber switch that is 0.2 us of real time among 16 workers
// and 0.5 us among thousands. A fiber uses one or two pages of memory until its stack grows.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "motley/base/ids.h"
#include "motley/cluster/spec.h"
#include "motley/node/node.h"

namespace motley {

// Every activity waits for a message and none is on its way. what() lists who waits for what.
class Deadlock : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Network;

class SimCluster {
 public:
  // Uses workers, latency and bandwidths (of links and memory) of the spec; no bandwidth means
  // unlimited. Speeds and slowdowns belong to the CostModel, which computes the cost given to
  // Node::busy(). The ranks of servers follow those of the workers.
  // The clock begins at `now`; changes of links before that have happened.
  explicit SimCluster(const ClusterSpec& spec, int servers = 0, std::uint64_t seed = 1,
                      Seconds now = 0);
  ~SimCluster();

  // Makes `body` an activity of `rank` (a worker, a server or kCoordinator): when run() is called,
  // or at once if it is running. Bodies begin in the order in which they were started.
  void start(Rank rank, std::function<void(Node&)> body);

  // Returns when every activity has returned. If an exception leaves one, the others are stopped,
  // and it is thrown here when all are unwound; so is Deadlock. Exceptions of a failed rank are
  // ignored.
  void run();

  // Makes blocked and later Node calls throw Interrupted with this reason. Call it on the thread of
  // run(): in a body, or between runs.
  void stop(const std::string& reason);

  // A rank may run several terms, one after the other, on the same clock and network.
  // Ends the rank's current term: blocked and later Node calls of its activities throw Interrupted
  // with this reason. If that exception leaves an activity, the activity counts as returned.
  void end_term(Rank rank, const std::string& reason);
  // Starts the rank's next term with `body` and an empty mailbox, as soon as all of its activities
  // have returned (at once if it has none). Lost peers stay lost. Messages in flight arrive in the
  // new term. If called several times, the terms run one after the other. No term starts after a
  // stop or after the rank has failed.
  void next_term(Rank rank, std::function<void(Node&)> body);

  // The same at virtual time `at`, if run() has not returned before.
  void stop_at(Seconds at, const std::string& reason);
  // Stops the clock of a rank from `from` to `until`: what its activities wait for or compute ends
  // that much later. Messages go on arriving, and wait.
  void freeze(Rank rank, Seconds from, Seconds until);

  // Cuts the rank off at virtual time `at` (now, if that has passed). Its activities are unwound
  // with Interrupted; messages that have not left its uplink are lost, the others arrive. The other
  // ranks learn of the loss one latency later, after the last message that still arrives.
  void fail(Rank rank, Seconds at, std::string reason);

  // Sets a function that run() calls every few dozen events, so it must be cheap (read an atomic
  // flag). When it returns true, the run stops with the reason "interrupted".
  void poll(std::function<bool()> stop_requested);

  // For traffic that is computed ahead instead of sent (sync/ring_meeting.h). deliver() puts a
  // message into a mailbox at time `at`, which must not have passed, without using a link.
  // occupy() keeps a connection busy from now on, as a message of so many bytes would.
  const Network& network() const;
  void deliver(Rank to, Seconds at, Message message);
  void occupy(Rank from, Rank to, std::size_t bytes);
  void count_bytes(Rank rank, std::size_t bytes);

  // The virtual time.
  Seconds now() const;
  // Events processed: arrivals at links and mailboxes, ends of busy(), process() and sleep(),
  // deadlines.
  std::uint64_t events() const;
  // Bytes that a rank has put on its uplink, including frames.
  std::uint64_t bytes_sent(Rank rank) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
