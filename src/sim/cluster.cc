#include "sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "node/mailbox.h"
#include "sim/deadlock_report.h"
#include "sim/exceptions.h"
#include "sim/flight_table.h"
#include "sim/freezes.h"
#include "sim/network.h"
#include "sim/scheduler.h"

namespace motley {
namespace {

constexpr std::uint64_t kPollEvery = 64;  // steps of the scheduler

// Kinds of events that the scheduler calls back for. `index` is that of a flight, a fault or a
// change.
enum What : std::uint32_t { kFlightArrives, kRankFails, kLinkChanges, kStops };

struct Fault {
  Rank rank;
  std::string reason;
};

}  // namespace

class SimCluster::Impl final : private Scheduler::Owner {
 public:
  Impl(const ClusterSpec& spec, int servers, std::uint64_t seed, Seconds now)
      : workers_(spec.workers),
        ranks_(spec.workers + servers),
        per_memory_byte_(spec.memory_bandwidth ? 1 / *spec.memory_bandwidth : 0),
        network_(spec, servers, seed),
        scheduler_(*this, now) {
    hosts_.reserve(static_cast<std::size_t>(ranks_) + 1);
    for (Rank rank = kCoordinator; rank < ranks_; ++rank) {
      hosts_.emplace_back(*this, rank);
    }
    plan_changes(spec.events);
  }

  void start(Rank rank, std::string name, std::function<void(Node&)> body);
  void run();
  void stop(const std::string& reason);
  void end_term(Rank rank, const std::string& reason);
  void next_term(Rank rank, std::function<void(Node&)> body);
  void fail(Rank rank, Seconds at, std::string reason);
  void stop_at(Seconds at, std::string reason);
  void freeze(Rank rank, Seconds from, Seconds until) { host(rank).freezes.add(from, until); }
  void poll(std::function<bool()> stop_requested) { stop_requested_ = std::move(stop_requested); }

  void occupy(Rank from, Rank to, std::size_t bytes);
  void deliver(Rank to, Seconds at, Message message);

  Network& network() { return network_; }
  const Scheduler& scheduler() const { return scheduler_; }

 private:
  // An activity that is blocked in receive_until().
  struct Receiver {
    ActivityId activity;
    Match match;
  };
  struct HostActivity {
    ActivityId id;
    std::string name;
  };
  struct Host;

  // The Node of one rank: all of its activities share it.
  class SimNode final : public Node {
   public:
    SimNode(Impl& cluster, Rank rank) : cluster_(cluster), rank_(rank) {}
    Rank rank() const override { return rank_; }
    int size() const override { return cluster_.workers_; }
    Seconds now() const override { return cluster_.scheduler_.now(); }
    void send(Rank to, Channel channel, Header header, Payload payload) override;
    std::optional<Message> receive_until(Match match, Seconds deadline) override;
    void forget(Rank peer) override { host().mailbox.forget(peer); }
    void busy(Seconds cost, const std::function<void()>& body) override;
    void process(std::size_t bytes, const std::function<void()>& body) override {
      const Seconds cost = static_cast<double>(bytes) * cluster_.per_memory_byte_;
      busy(cost < 1e-9 ? 0 : cost, body);  // no event for less than a nanosecond
    }
    void sleep(Seconds duration) override { wait_for(duration); }
    void spawn(std::string name, std::function<void(Node&)> body) override;

   private:
    Host& host() const { return cluster_.known_host(rank_); }
    void wait_for(Seconds duration);
    void thaw();

    Impl& cluster_;
    Rank rank_;
  };

  struct Host {
    Host(Impl& cluster, Rank host_rank) : rank(host_rank), node(cluster, host_rank) {}
    bool is_down() const { return down_since < Node::kForever; }
    void throw_if_down() const {
      if (is_down()) {
        throw Interrupted(rank, down_reason);
      }
    }
    // Checked first by every Node call but receives, which first return what has arrived.
    void throw_if_over() const {
      throw_if_down();
      mailbox.throw_if_over();
    }

    Rank rank;
    SimNode node;
    Mailbox mailbox;
    std::vector<Receiver> receivers;       // in the order in which they blocked
    std::vector<HostActivity> activities;  // in the order in which they began
    std::deque<std::function<void(Node&)>> next_terms;
    Freezes freezes;
    Seconds down_since = Node::kForever;
    std::string down_reason;
  };

  Host& host(Rank rank) {
    MOTLEY_CHECK(rank >= kCoordinator && rank < ranks_, "no rank {} among {}", rank, ranks_);
    return known_host(rank);
  }
  Host& known_host(Rank rank) { return hosts_[static_cast<std::size_t>(rank - kCoordinator)]; }

  void on_event(std::uint32_t what, std::uint32_t index) override;
  Seconds next_own_event() override { return network_.next_departure(); }
  void on_own_event() override;
  void on_end(ActivityId activity, std::exception_ptr error) override;

  void plan_changes(std::vector<ClusterEvent> events);
  void send(Host& from, Rank to, Message message);
  void flight_arrives(std::uint32_t flight);
  void change_link(const ClusterEvent& event);
  void deliver(Host& to, Message message);
  void lose(Host& at, Rank peer);
  void begin_next_term(Host& home);
  void fail_now(const Fault& fault);
  void end_with(std::exception_ptr error);
  std::string report_deadlock() const;

  const int workers_;
  const int ranks_;  // including servers
  const Seconds per_memory_byte_;
  Network network_;
  Scheduler scheduler_;
  std::vector<Host> hosts_;             // the coordinator comes first
  std::vector<Rank> rank_of_activity_;  // by ActivityId
  FlightTable flights_;
  std::vector<Fault> faults_;
  std::vector<std::string> stops_;     // reasons
  std::vector<ClusterEvent> changes_;  // of links
  std::function<bool()> stop_requested_;
  std::exception_ptr error_;  // the first that left an activity
};

void SimCluster::Impl::plan_changes(std::vector<ClusterEvent> events) {
  std::ranges::stable_sort(events, {}, &ClusterEvent::at);
  for (const ClusterEvent& event : events) {
    if (event.kind == EventKind::kSpeed || concerns_members(event.kind)) {
      continue;
    }
    if (event.at < scheduler_.now()) {
      change_link(event);
    } else {
      scheduler_.at(event.at, kLinkChanges, static_cast<std::uint32_t>(changes_.size()));
      changes_.push_back(event);
    }
  }
}

void SimCluster::Impl::start(Rank rank, std::string name, std::function<void(Node&)> body) {
  Host& home = host(rank);
  const ActivityId id =
      scheduler_.start([&node = home.node, body = std::move(body)] { body(node); });
  home.activities.push_back({id, std::move(name)});
  rank_of_activity_.resize(std::max<std::size_t>(rank_of_activity_.size(), id + 1));
  rank_of_activity_[id] = rank;
}

void SimCluster::Impl::run() {
  for (std::uint64_t steps = 1; scheduler_.live() > 0; ++steps) {
    if (!scheduler_.step()) {
      end_with(std::make_exception_ptr(Deadlock(report_deadlock())));
    }
    if (steps % kPollEvery == 0 && stop_requested_ && stop_requested_()) {
      stop("interrupted");
    }
  }
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void SimCluster::Impl::stop(const std::string& reason) {
  for (Host& each : hosts_) {
    each.mailbox.stop(reason);
  }
  scheduler_.wake_all();
}

void SimCluster::Impl::fail(Rank rank, Seconds at, std::string reason) {
  host(rank);  // checks that the rank exists
  faults_.push_back({rank, std::move(reason)});
  scheduler_.at(std::max(at, scheduler_.now()), kRankFails,
                static_cast<std::uint32_t>(faults_.size() - 1));
}

void SimCluster::Impl::stop_at(Seconds at, std::string reason) {
  scheduler_.at(std::max(at, scheduler_.now()), kStops, static_cast<std::uint32_t>(stops_.size()));
  stops_.push_back(std::move(reason));
}

void SimCluster::Impl::on_event(std::uint32_t what, std::uint32_t index) {
  switch (What{what}) {
    case kFlightArrives:
      return flight_arrives(index);
    case kRankFails:
      return fail_now(faults_[index]);
    case kLinkChanges:
      return change_link(changes_[index]);
    case kStops:
      return stop(stops_[index]);
  }
}

void SimCluster::Impl::on_end(ActivityId activity, std::exception_ptr error) {
  Host& home = host(rank_of_activity_[activity]);
  std::erase_if(home.activities, [&](const HostActivity& each) { return each.id == activity; });
  const bool of_term = home.mailbox.term_ended() && is_interruption(error);
  if (error && !home.is_down() && !of_term) {
    end_with(std::move(error));
  }
  begin_next_term(home);
}

void SimCluster::Impl::end_term(Rank rank, const std::string& reason) {
  Host& home = host(rank);
  home.mailbox.end_term(reason);
  for (const HostActivity& each : home.activities) {
    scheduler_.wake(each.id);
  }
}

void SimCluster::Impl::next_term(Rank rank, std::function<void(Node&)> body) {
  Host& home = host(rank);
  home.next_terms.push_back(std::move(body));
  begin_next_term(home);
}

// Called when the last activity of a term has returned.
void SimCluster::Impl::begin_next_term(Host& home) {
  if (!home.activities.empty() || home.next_terms.empty()) {
    return;
  }
  if (home.is_down() || home.mailbox.run_stopped()) {
    return home.next_terms.clear();
  }
  home.mailbox.begin_term();
  auto body = std::move(home.next_terms.front());
  home.next_terms.pop_front();
  start(home.rank, "", std::move(body));
}

void SimCluster::Impl::end_with(std::exception_ptr error) {
  if (!error_) {
    stop(describe(error));
    error_ = std::move(error);
  }
}

void SimCluster::Impl::send(Host& from, Rank to, Message message) {
  if (to == from.rank) {
    deliver(from, std::move(message));
    return;
  }
  const Host& receiver = host(to);
  if (from.mailbox.is_lost(to)) {
    return;
  }
  const auto bytes = message.payload.size() + kFrameBytes;
  network_.count_bytes(from.rank, bytes);
  if (receiver.is_down()) {
    return;
  }
  const std::uint32_t index = flights_.add({.to = to, .message = std::move(message)});
  if (const auto arrives = network_.send(index, from.rank, to, bytes, scheduler_.now())) {
    scheduler_.at(*arrives, kFlightArrives, index);
  }
}

// The last byte of one or more messages has left.
void SimCluster::Impl::on_own_event() {
  while (const auto departure = network_.take_departure(scheduler_.now())) {
    scheduler_.at(departure->arrives, kFlightArrives, departure->message);
  }
}

void SimCluster::Impl::occupy(Rank from, Rank to, std::size_t bytes) {
  network_.send(Network::kNobodys, from, to, bytes, scheduler_.now());
}

void SimCluster::Impl::deliver(Rank to, Seconds at, Message message) {
  host(to);  // checks that the rank exists
  scheduler_.at(at, kFlightArrives, flights_.add({.to = to, .message = std::move(message)}));
}

void SimCluster::Impl::flight_arrives(std::uint32_t index) {
  Flight flight = flights_.take(index);
  Host& to = known_host(flight.to);
  if (to.is_down()) {
    return;
  }
  if (flight.is_loss) {
    lose(to, flight.message.from);
  } else {
    deliver(to, std::move(flight.message));
  }
}

void SimCluster::Impl::change_link(const ClusterEvent& event) {
  if (event.kind == EventKind::kBandwidth) {
    network_.change_bandwidth(event.worker, event.bandwidth, scheduler_.now());
  } else {
    network_.change_latency(event.worker, event.latency);
  }
}

void SimCluster::Impl::deliver(Host& to, Message message) {
  const auto taker = std::find_if(to.receivers.begin(), to.receivers.end(),
                                  [&](const Receiver& each) { return each.match.takes(message); });
  to.mailbox.put(std::move(message));
  if (taker != to.receivers.end()) {
    scheduler_.wake(taker->activity);
    to.receivers.erase(taker);
  }
}

// Wakes activities that may wait for the lost peer; their next look into the mailbox throws.
void SimCluster::Impl::lose(Host& at, Rank peer) {
  at.mailbox.lose(peer, host(peer).down_reason);
  std::erase_if(at.receivers, [&](const Receiver& each) {
    const bool affected = each.match.from == peer || each.match.from == kAnyRank;
    if (affected) {
      scheduler_.wake(each.activity);
    }
    return affected;
  });
}

void SimCluster::Impl::fail_now(const Fault& fault) {
  Host& failed = host(fault.rank);
  if (failed.is_down()) {
    return;
  }
  failed.down_since = scheduler_.now();
  failed.down_reason = fault.reason;
  for (const auto& activity : failed.activities) {
    scheduler_.wake(activity.id);
  }
  for (const std::uint32_t flight : network_.cut(fault.rank, scheduler_.now())) {
    flights_.take(flight);
  }
  // The news travels like an empty message, so it arrives after everything that has left.
  for (const Host& other : hosts_) {
    if (other.rank != fault.rank) {
      const Seconds there = scheduler_.now() + network_.latency(fault.rank, other.rank);
      scheduler_.at(there, kFlightArrives,
                    flights_.add({.to = other.rank,
                                  .message = {.from = fault.rank, .header = {}, .payload = {}},
                                  .is_loss = true}));
    }
  }
}

// With no event left, every live activity waits in a receive without a deadline or sleeps forever.
std::string SimCluster::Impl::report_deadlock() const {
  std::vector<BlockedActivity> blocked;
  for (const Host& each : hosts_) {
    for (const HostActivity& activity : each.activities) {
      blocked.push_back({.rank = each.rank, .name = activity.name, .match = std::nullopt});
      const auto waits = std::ranges::find(each.receivers, activity.id, &Receiver::activity);
      if (waits != each.receivers.end()) {
        blocked.back().match = waits->match;
      }
    }
  }
  return deadlock_report(scheduler_.now(), blocked);
}

void SimCluster::Impl::SimNode::send(Rank to, Channel channel, Header header, Payload payload) {
  Host& home = host();
  home.throw_if_over();
  cluster_.send(home, to,
                {.from = rank_,
                 .channel = channel,
                 .header = header,
                 .payload = payload.is_borrowed() ? payload.kept() : std::move(payload),
                 .sent = now(),
                 .term = home.mailbox.term()});
}

std::optional<Message> SimCluster::Impl::SimNode::receive_until(Match match, Seconds deadline) {
  Host& home = host();
  for (;;) {
    home.throw_if_down();
    thaw();
    if (auto message = home.mailbox.take(match)) {
      return message;
    }
    if (deadline <= now()) {
      return std::nullopt;
    }
    const ActivityId self = cluster_.scheduler_.current();
    home.receivers.push_back({self, match});
    cluster_.scheduler_.wait_until(deadline);
    // A message removes the receiver from the list; a deadline or the end of the run does not.
    std::erase_if(home.receivers, [&](const Receiver& each) { return each.activity == self; });
  }
}

void SimCluster::Impl::SimNode::busy(Seconds cost, const std::function<void()>& body) {
  host().throw_if_over();
  cluster_.scheduler_.run_outside(body);
  if (cost > 0) {
    wait_for(cost);
  }
}

void SimCluster::Impl::SimNode::spawn(std::string name, std::function<void(Node&)> body) {
  host().throw_if_over();
  cluster_.start(rank_, std::move(name), std::move(body));
}

void SimCluster::Impl::SimNode::wait_for(Seconds duration) {
  const Host& home = host();
  home.throw_if_over();
  cluster_.scheduler_.wait_until(home.freezes.end_of(now(), std::max(duration, 0.0)));
  home.throw_if_over();
}

// Waits until the rank is not frozen.
void SimCluster::Impl::SimNode::thaw() {
  const Seconds thawed = host().freezes.thawed(now());
  if (thawed > now() && !host().mailbox.over()) {
    cluster_.scheduler_.wait_until(thawed);
  }
}

SimCluster::SimCluster(const ClusterSpec& spec, int servers, std::uint64_t seed, Seconds now)
    : impl_(std::make_unique<Impl>(spec, servers, seed, now)) {}
SimCluster::~SimCluster() = default;

void SimCluster::start(Rank rank, std::function<void(Node&)> body) {
  impl_->start(rank, "", std::move(body));
}
void SimCluster::run() { impl_->run(); }
void SimCluster::stop(const std::string& reason) { impl_->stop(reason); }
void SimCluster::end_term(Rank rank, const std::string& reason) { impl_->end_term(rank, reason); }
void SimCluster::next_term(Rank rank, std::function<void(Node&)> body) {
  impl_->next_term(rank, std::move(body));
}
void SimCluster::fail(Rank rank, Seconds at, std::string reason) {
  impl_->fail(rank, at, std::move(reason));
}
void SimCluster::stop_at(Seconds at, const std::string& reason) { impl_->stop_at(at, reason); }
void SimCluster::freeze(Rank rank, Seconds from, Seconds until) {
  impl_->freeze(rank, from, until);
}
void SimCluster::poll(std::function<bool()> stop_requested) {
  impl_->poll(std::move(stop_requested));
}

Seconds SimCluster::now() const { return impl_->scheduler().now(); }
std::uint64_t SimCluster::events() const { return impl_->scheduler().events(); }
std::uint64_t SimCluster::bytes_sent(Rank rank) const { return impl_->network().bytes_sent(rank); }
void SimCluster::count_bytes(Rank rank, std::size_t bytes) {
  impl_->network().count_bytes(rank, bytes);
}
void SimCluster::occupy(Rank from, Rank to, std::size_t bytes) { impl_->occupy(from, to, bytes); }
const Network& SimCluster::network() const { return impl_->network(); }
void SimCluster::deliver(Rank to, Seconds at, Message message) {
  impl_->deliver(to, at, std::move(message));
}

}  // namespace motley
