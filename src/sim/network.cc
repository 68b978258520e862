#include "sim/network.h"

#include <algorithm>
#include <unordered_map>

#include "base/check.h"
#include "cluster/uneven_weight.h"

namespace motley {
namespace {

constexpr std::uint64_t kWeightStream = 0x3e1647;

double up_of(const ClusterSpec& spec, std::size_t worker) {
  return (spec.bandwidth_up.empty() ? spec.bandwidth : spec.bandwidth_up).at(worker);
}
double down_of(const ClusterSpec& spec, std::size_t worker) {
  return (spec.bandwidth_down.empty() ? spec.bandwidth : spec.bandwidth_down).at(worker);
}

bool has_links(const ClusterSpec& spec) {
  return !spec.bandwidth.empty() || !spec.bandwidth_up.empty() || !spec.bandwidth_down.empty();
}

}  // namespace

Network::Network(const ClusterSpec& spec, int servers, std::uint64_t seed)
    : workers_(spec.workers),
      efficiency_(spec.tcp_efficiency),
      unevenness_(spec.unevenness),
      latency_(spec.latency),
      memory_latency_(spec.memory_latency),
      keeps_order_(std::ranges::any_of(
          spec.events,
          [](const ClusterEvent& event) { return event.kind == EventKind::kLatency; })),
      random_(seed, kWeightStream) {
  place_ranks(spec, servers);
  if (!spec.hosts.empty()) {
    latency_.leave_out_machines(spec.hosts);
  }
  for (Machine& machine : machines_) {
    if (machine.ranks > 1 && spec.memory_bandwidth) {
      machine.memory = flows_.add(*spec.memory_bandwidth);
    }
  }
  if (has_links(spec)) {
    add_links(spec);
  }
  if (spec.backbone) {
    backbone_ = flows_.add(*spec.backbone * efficiency_);
  }
}

// Without hosts, worker i is on machine i. Servers without hosts have machines of their own.
void Network::place_ranks(const ClusterSpec& spec, int servers) {
  std::unordered_map<int, std::size_t> known;  // from numbers of the job to ours
  const auto place = [&](std::optional<int> host) {
    std::size_t machine = machines_.size();
    if (host) {
      machine = known.try_emplace(*host, machine).first->second;
    }
    machines_.resize(std::max(machines_.size(), machine + 1));
    ++machines_[machine].ranks;
    members_.push_back({.machine = machine});
  };
  machines_.emplace_back();  // kNoMachine
  members_.emplace_back();   // the coordinator
  for (int worker = 0; worker < spec.workers; ++worker) {
    place(spec.hosts.empty() ? worker : spec.hosts.at(static_cast<std::size_t>(worker)));
  }
  for (int server = 0; server < servers; ++server) {
    place(spec.server_hosts.empty()
              ? std::nullopt
              : std::optional(spec.server_hosts.at(static_cast<std::size_t>(server))));
  }
}

// A machine has the links of its first worker; without workers, those of a server.
void Network::add_links(const ClusterSpec& spec) {
  double fastest = 0;
  for (std::size_t worker = 0; worker < static_cast<std::size_t>(workers_); ++worker) {
    fastest = std::max({fastest, up_of(spec, worker), down_of(spec, worker)});
    add_link(member(static_cast<Rank>(worker)).machine, up_of(spec, worker), down_of(spec, worker));
  }
  const double of_server = spec.server_bandwidth.value_or(fastest);
  for (std::size_t machine = kNoMachine + 1; machine < machines_.size(); ++machine) {
    add_link(machine, of_server, of_server);
  }
}

// Does nothing if the machine has its links.
void Network::add_link(std::size_t machine, double up, double down) {
  Machine& its = machines_[machine];
  if (its.up == kUnlimited) {
    its.up = flows_.add(up * efficiency_);
    its.down = flows_.add(down * efficiency_);
  }
}

bool Network::same_machine(Rank from, Rank to) const {
  return member(from).machine != kNoMachine && member(from).machine == member(to).machine;
}

Seconds Network::latency(Rank from, Rank to) const {
  return same_machine(from, to) ? memory_latency_ : latency_.between(from, to);
}

FairFlows::Path Network::path(Rank from, Rank to) const {
  const Machine& sender = machines_[member(from).machine];
  const Machine& receiver = machines_[member(to).machine];
  FairFlows::Path path;
  const auto add = [&path](LinkId link) {
    if (link != kUnlimited) {
      path.add(link);
    }
  };
  if (same_machine(from, to)) {
    add(sender.memory);
    return path;
  }
  add(sender.up);
  add(receiver.down);
  if (from != kCoordinator && to != kCoordinator) {
    add(backbone_);
  }
  return path;
}

std::optional<Seconds> Network::send(MessageId message, Rank from, Rank to, std::size_t bytes,
                                     Seconds now) {
  const FairFlows::Path way = path(from, to);
  if (way.size() == 0) {
    return arrival(from, to, now);
  }
  if (Connection* connection = find(way, from, to)) {
    wait(*connection, message, bytes);
  } else {
    begin({.from = from, .to = to, .message = message, .weight = any_weight()}, way, bytes, now);
  }
  return std::nullopt;
}

double Network::any_weight() { return unevenness_ == 0 ? 1 : uneven_weight(random_, unevenness_); }

// Looks at the link of the path with the fewest flows.
Network::Connection* Network::find(const FairFlows::Path& path, Rank from, Rank to) {
  const std::vector<FlowId>* fewest = &flows_.flows_on(path[0]);
  for (const LinkId link : path) {
    const std::vector<FlowId>& flows = flows_.flows_on(link);
    fewest = flows.size() < fewest->size() ? &flows : fewest;
  }
  for (const FlowId flow : *fewest) {
    Connection& connection = connections_[flow];
    if (connection.from == from && connection.to == to) {
      return &connection;
    }
  }
  return nullptr;
}

void Network::begin(const Connection& connection, const FairFlows::Path& path, std::size_t bytes,
                    Seconds now) {
  const FlowId flow = flows_.begin(path, static_cast<double>(bytes), now, connection.weight);
  connections_.resize(std::max<std::size_t>(connections_.size(), flow + 1));
  connections_[flow] = connection;
}

void Network::wait(Connection& connection, MessageId message, std::size_t bytes) {
  auto place = static_cast<std::uint32_t>(waiting_.size());
  if (unused_.empty()) {
    waiting_.emplace_back();
  } else {
    place = unused_.back();
    unused_.pop_back();
  }
  waiting_[place] = {message, bytes, kNone};
  (connection.first == kNone ? connection.first : waiting_[connection.last].next) = place;
  connection.last = place;
}

std::optional<Network::Departure> Network::take_departure(Seconds now) {
  while (const auto flow = flows_.take_ended(now)) {
    const Connection connection = connections_[*flow];
    begin_next(connection, now);
    if (connection.message != kNobodys) {
      return Departure{connection.message, arrival(connection.from, connection.to, now)};
    }
  }
  return std::nullopt;
}

// Begins with the message behind the one that has left.
void Network::begin_next(Connection connection, Seconds now) {
  if (connection.first == kNone) {
    return;
  }
  const std::uint32_t place = connection.first;
  const Waiting next = waiting_[place];
  unused_.push_back(place);
  connection.message = next.message;
  connection.first = next.next;
  begin(connection, path(connection.from, connection.to), next.bytes, now);
}

// Messages of a connection stay in order when its latency falls.
Seconds Network::arrival(Rank from, Rank to, Seconds left) {
  Seconds arrives = left + latency(from, to);
  if (keeps_order_) {
    const auto key = static_cast<std::uint64_t>(from - kCoordinator) * members_.size() +
                     static_cast<std::uint64_t>(to - kCoordinator);
    Seconds& last = last_arrival_[key];
    arrives = last = std::max(last, arrives);
  }
  return arrives;
}

std::vector<Network::MessageId> Network::cut(Rank rank, Seconds now) {
  std::vector<MessageId> lost;
  for (FlowId flow = 0; flow < connections_.size(); ++flow) {
    const Connection& connection = connections_[flow];
    if ((connection.from != rank && connection.to != rank) || !flows_.is_under_way(flow)) {
      continue;
    }
    lost.push_back(connection.message);
    for (std::uint32_t place = connection.first; place != kNone; place = waiting_[place].next) {
      lost.push_back(waiting_[place].message);
      unused_.push_back(place);
    }
    flows_.cancel(flow, now);
  }
  std::erase(lost, kNobodys);
  return lost;
}

void Network::change_bandwidth(Rank worker, double bandwidth, Seconds now) {
  const Machine& machine = machines_[member(worker).machine];
  MOTLEY_CHECK(machine.up != kUnlimited, "the links of worker {} are unlimited", worker);
  flows_.change(machine.up, bandwidth * efficiency_, now);
  flows_.change(machine.down, bandwidth * efficiency_, now);
}

void Network::change_latency(Rank worker, Seconds latency) {
  for (Rank other = 0; other < workers_; ++other) {
    if (member(other).machine == member(worker).machine) {
      latency_.change(other, workers_, latency);
    }
  }
}

}  // namespace motley
