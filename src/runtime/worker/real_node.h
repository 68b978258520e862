// RealNode: a Node whose activities are threads; the thread that calls run() is the first activity.
//
//   Driver driver;
//   RealNode node(driver, rank, size);
//   TcpFabric fabric(driver, node, ...);
//   node.attach(fabric);
//   node.run([](Node& node) { ... protocol ... });
//
// A node can live through several terms, one run() each, on the same fabric and clock:
//
//   another thread: node.end_term("worker 3 was lost");   // run() returns
//   node.begin_term();
//   node.run([](Node& node) { ... });
//
// A process has a number that lasts for the run, its address on the fabric, and a rank in each term
// that it takes part in.
//
// Time is the steady clock. Whichever thread drives the sockets (fabric/driver.h) puts messages
// into the mailbox, usually the thread that waits for them.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "fabric/driver.h"
#include "fabric/fabric.h"
#include "motley/node/node.h"
#include "node/mailbox.h"
#include "runtime/run/wait_info.h"
#include "runtime/worker/pacer.h"

namespace motley {

// The processes of a term, by rank: workers, then servers.
struct TermPlaces {
  std::vector<Rank> processes;
  int workers = 0;
};

class RealNode final : public Node, public FabricSink {
 public:
  // Until a term begins with other places, the rank is the process's number.
  RealNode(Driver& driver, Rank process, int size);
  ~RealNode() override;

  void attach(Fabric& fabric) { fabric_ = &fabric; }

  // Runs the body on this thread, then waits for spawned activities. Rethrows the first exception.
  void run(const std::function<void(Node&)>& body);

  // Thread-safe. Makes blocked and later calls throw Interrupted with this reason.
  void stop(const std::string& reason);
  // Any thread: the same for the calls of this term. An Interrupted that leaves an activity from
  // now on counts as its return, so that run() returns once all activities are unwound.
  void end_term(const std::string& reason);
  // Whether the term was ended in this way, and the node was not stopped: another term may follow.
  bool term_ended() const;
  // After run() has returned, with what it spawned: empties the mailbox, so that run() may be
  // called again. Lost peers stay lost, and a stopped or failed node stays so. What peers send in
  // the term of this number is received in it, also if it has arrived before; everything else is
  // dropped. Without a number, messages that are still under way arrive in the new term.
  void begin_term(std::optional<std::uint16_t> number = {});
  // The same with other members. This process is one of them, or it is the coordinator.
  void begin_term(std::uint16_t number, TermPlaces places);
  // Restarts the clock: the run began at `began`.
  void restart_clock(Driver::Clock::time_point began) { began_ = began; }
  // Whether busy() sleeps until its cost has passed (runtime/worker/pacer.h). False if CPU quotas
  // slow the machine down instead.
  void set_paced(bool paced) { paced_ = paced; }
  // Sleeps until computing that began at `began` (this node's clock) has taken `cost`: like busy(),
  // for a caller that has already computed.
  void make_last(Seconds began, Seconds cost);
  Pace pace() const;

  // Thread-safe. What this node sent and received in this term, without control messages.
  MessageCounts counts() const;
  // Thread-safe. Set if no activity can continue before a message arrives: each of them is in a
  // receive() without a deadline, and has seen every message that has arrived.
  std::optional<WaitInfo> waiting() const;

  Rank rank() const override { return rank_; }
  int size() const override { return size_; }
  Seconds now() const override;
  void send(Rank to, Channel channel, Header header, Payload payload) override;
  std::optional<Message> receive_until(Match match, Seconds deadline) override;
  void forget(Rank peer) override;
  void busy(Seconds cost, const std::function<void()>& body) override;
  void process(std::size_t bytes, const std::function<void()>& body) override;
  void sleep(Seconds duration) override;
  void spawn(std::string name, std::function<void(Node&)> body) override;

  void on_message(Message message) override;
  void on_peer_lost(Rank peer, const std::string& reason) override;

 private:
  Driver::Clock::time_point moment(Seconds at) const;
  void last(Driver::Clock::time_point began, Seconds cost);
  // `lock` must hold the driver's mutex.
  void sleep_until(std::unique_lock<std::mutex>& lock, Driver::Clock::time_point moment);
  // Runs an activity; what leaves it fails the node, unless it is the end of a term.
  void guarded(const std::function<void(Node&)>& body);
  void failed(std::exception_ptr error, const std::string& reason);
  // A receive() without a deadline that found no message among the first `seen` that arrived.
  struct Waiter {
    Match match;
    std::uint64_t seen = 0;
  };
  class Enlisted;

  void begin_term(std::optional<std::uint16_t> number, std::vector<Rank> processes);

  Driver& driver_;
  Fabric* fabric_ = nullptr;
  const Rank process_;
  // Of this term. They change between two terms, when no activity runs.
  Rank rank_;
  int size_;
  bool paced_ = true;
  std::atomic<Driver::Clock::time_point> began_;
  std::atomic<std::uint64_t> sent_ = 0;  // messages of this term
  std::atomic<std::uint16_t> term_ = 0;  // as in mailbox_

  // Guarded by the driver's mutex.
  Pacer pacer_;
  Mailbox mailbox_;
  std::vector<const Waiter*> waiters_;
  std::size_t running_ = 1;  // activities that have not returned, the first one included
  std::vector<std::thread> activities_;
  std::exception_ptr first_error_;
};

}  // namespace motley
