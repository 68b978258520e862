// Network: the machines of a cluster, their links, and the messages that are crossing them.
//
//   network.send(message, from, to, bytes, now);     // `message` is any number
//   const Seconds then = network.next_departure();
//   while (const auto departure = network.take_departure(then)) { ... departure->arrives ... }
//
// The model. A machine has an uplink and a downlink; all of its ranks share them. A message crosses
// its sender's uplink, the backbone if there is one, and its receiver's downlink, all at once, as a
// stream of packets does. Messages under way share links max-min fairly (cluster/fair_flows.h), as
// connections do; with `unevenness`, each connection has a weight, anew whenever it was idle.
// Between two ranks there is one connection, and its messages go one after the other. A message
// arrives one latency after its last byte has left. Between ranks of one machine, messages cross
// its memory instead.
//
// The coordinator has no links: its messages take the time that the other side's link needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "cluster/fair_flows.h"
#include "motley/base/ids.h"
#include "motley/cluster/spec.h"

namespace motley {

class Network {
 public:
  using MessageId = std::uint32_t;
  // Occupies a connection like a message, but departs without notice.
  static constexpr MessageId kNobodys = ~0U;

  struct Departure {
    MessageId message;
    Seconds arrives;
  };

  // The ranks of servers follow those of the workers. Without bandwidths, links are unlimited.
  Network(const ClusterSpec& spec, int servers, std::uint64_t seed = 1);

  // Returns the arrival if nothing limits the message. Otherwise it departs later.
  std::optional<Seconds> send(MessageId message, Rank from, Rank to, std::size_t bytes,
                              Seconds now);

  // When the next message has left, provided that nothing is sent before.
  Seconds next_departure() { return flows_.next_end(); }
  std::optional<Departure> take_departure(Seconds now);

  // Removes all messages from and to the rank that have not left, and returns them.
  std::vector<MessageId> cut(Rank rank, Seconds now);

  Seconds latency(Rank from, Rank to) const;
  std::uint64_t bytes_sent(Rank rank) const { return member(rank).bytes_sent; }
  void count_bytes(Rank rank, std::size_t bytes) { member(rank).bytes_sent += bytes; }

  // From now on the machine of the worker has this bandwidth, both ways, or this latency.
  void change_bandwidth(Rank worker, double bandwidth, Seconds now);
  // The spec must have an event of the same kind.
  void change_latency(Rank worker, Seconds latency);

  // The links from one rank to another; empty if they are unlimited.
  FairFlows::Path path(Rank from, Rank to) const;
  double capacity(FairFlows::LinkId link) const { return flows_.capacity(link); }

 private:
  using LinkId = FairFlows::LinkId;
  using FlowId = FairFlows::FlowId;

  static constexpr LinkId kUnlimited = ~0U;
  static constexpr std::size_t kNoMachine = 0;  // of the coordinator: all others come after it

  struct Machine {
    LinkId up = kUnlimited;
    LinkId down = kUnlimited;
    LinkId memory = kUnlimited;
    int ranks = 0;
  };
  struct Member {
    std::size_t machine = kNoMachine;
    std::uint64_t bytes_sent = 0;
  };
  struct Waiting {
    MessageId message;
    std::size_t bytes;
    std::uint32_t next;  // in waiting_
  };
  // The messages between two ranks: one is a flow, the others wait for it.
  struct Connection {
    Rank from = 0;
    Rank to = 0;
    MessageId message = 0;
    double weight = 1;
    std::uint32_t first = kNone;  // in waiting_
    std::uint32_t last = kNone;
  };
  static constexpr std::uint32_t kNone = ~0U;

  void place_ranks(const ClusterSpec& spec, int servers);
  void add_links(const ClusterSpec& spec);
  void add_link(std::size_t machine, double up, double down);
  // The coordinator comes first: it is rank -1.
  Member& member(Rank rank) { return members_[static_cast<std::size_t>(rank - kCoordinator)]; }
  const Member& member(Rank rank) const {
    return members_[static_cast<std::size_t>(rank - kCoordinator)];
  }
  bool same_machine(Rank from, Rank to) const;
  double any_weight();
  Connection* find(const FairFlows::Path& path, Rank from, Rank to);
  void begin(const Connection& connection, const FairFlows::Path& path, std::size_t bytes,
             Seconds now);
  void wait(Connection& connection, MessageId message, std::size_t bytes);
  void begin_next(Connection connection, Seconds now);
  Seconds arrival(Rank from, Rank to, Seconds left);

  const int workers_;
  const double efficiency_;
  const double unevenness_;
  Latency latency_;
  const Seconds memory_latency_;
  const bool keeps_order_;  // the job has events that change latencies
  std::unordered_map<std::uint64_t, Seconds> last_arrival_;  // by connection, if keeps_order_
  Random random_;                                            // of weights
  FairFlows flows_;
  LinkId backbone_ = kUnlimited;
  std::vector<Machine> machines_;        // the first is kNoMachine
  std::vector<Member> members_;          // by rank; the coordinator comes first
  std::vector<Connection> connections_;  // by flow
  std::vector<Waiting> waiting_;
  std::vector<std::uint32_t> unused_;  // places of waiting_
};

}  // namespace motley
