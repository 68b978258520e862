// The side of a TcpFabric that sends: its links to peers, and who counts as lost.
#include <asio/post.hpp>
#include <chrono>
#include <utility>

#include "fabric/tcp_connection.h"

namespace motley {
namespace {

// Numbers of terms are modulo 2^16, so half of them are ahead.
int terms_ahead(std::uint16_t term, std::uint16_t of) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(term - of));
}

// False for a message of an earlier term than those since a reconnect.
bool keeps_up(const Message& message, std::optional<std::uint16_t>* latest) {
  if (message.channel == Channel::kControl || !*latest) {
    return true;
  }
  const bool in_time = terms_ahead(message.term, **latest) >= 0;
  if (in_time) {
    *latest = message.term;
  }
  return in_time;
}

}  // namespace

std::shared_ptr<TcpFabric::Outgoing> TcpFabric::outgoing(Rank to, const Message& message) {
  std::lock_guard lock(mutex_);
  auto it = links_.find(to);
  if (it == links_.end()) {
    return nullptr;
  }
  Link& link = it->second;
  if (!link.endpoint || link.lost || link.dropped || !keeps_up(message, &link.latest_out)) {
    return nullptr;
  }
  if (!link.outgoing) {
    Message hello;
    hello.from = options_.self;
    hello.term = link.term;
    hello.header = {.tag = to, .a = ++link.streams};
    hello.payload = Payload::copy_of(std::as_bytes(std::span(options_.token)));
    link.outgoing = std::make_shared<Outgoing>(*this, to, *link.endpoint, std::move(hello));
    asio::post(driver_.io(), [connection = link.outgoing] { connection->connect(); });
  }
  return link.outgoing;
}

void TcpFabric::drop_peer(Rank peer) {
  std::lock_guard lock(mutex_);
  Link& link = links_[peer];
  link.dropped = true;
  asio::post(driver_.io(),
             [this, peer, alive = alive_, outgoing = std::exchange(link.outgoing, nullptr)] {
               if (*alive) {
                 disconnect(streams_[peer]);
               }
               if (outgoing) {
                 outgoing->shut();
               }
             });
}

void TcpFabric::reconnect(Rank peer, std::uint16_t term) {
  std::lock_guard lock(mutex_);
  Link& link = links_[peer];
  if (link.dropped || (!link.lost && link.term == term)) {
    return;
  }
  link.lost = false;
  ++link.reconnects;
  link.term = term;
  link.latest_in = term;
  link.latest_out = term;
  asio::post(driver_.io(),
             [this, peer, alive = alive_, outgoing = std::exchange(link.outgoing, nullptr)] {
               if (auto it = streams_.find(peer);
                   *alive && it != streams_.end() && is_outdated(peer, it->second)) {
                 disconnect(it->second);
               }
               if (outgoing) {
                 outgoing->shut();
               }
             });
}

bool TcpFabric::is_outdated(Rank peer, const Stream& stream) {
  std::lock_guard lock(mutex_);
  const Link& link = links_[peer];
  return stream.reconnects < link.reconnects && terms_ahead(stream.term, link.term) < 0;
}

bool TcpFabric::admits(const Message& message) {
  std::lock_guard lock(mutex_);
  auto it = links_.find(message.from);
  return it == links_.end() || (!it->second.dropped && keeps_up(message, &it->second.latest_in));
}

void TcpFabric::broke(Rank peer, const Outgoing& connection, const std::string& reason) {
  {
    std::lock_guard lock(mutex_);
    if (links_[peer].outgoing.get() != &connection) {
      return;
    }
  }
  // Messages that the peer sent before may still arrive; the end of its connection reports the
  // loss.
  if (!hears(peer)) {
    lose(peer, reason);
  }
}

void TcpFabric::lose(Rank peer, const std::string& reason) {
  if (auto it = streams_.find(peer); it != streams_.end()) {
    if (const auto connection = it->second.connection) {
      connection->drain();
    }
    disconnect(it->second);
  }
  std::shared_ptr<Outgoing> outgoing;
  bool known = false;
  {
    std::lock_guard lock(mutex_);
    Link& link = links_[peer];
    outgoing = std::exchange(link.outgoing, nullptr);
    known = std::exchange(link.lost, true) || link.dropped;
  }
  if (outgoing) {
    outgoing->shut();
  }
  if (!known && !closing_) {
    sink_.on_peer_lost(peer, reason);
  }
}

int TcpFabric::ticks_to_loss(Rank peer) const {
  return peer == kCoordinator ? kTicksToLoss * options_.patience_with_coordinator : kTicksToLoss;
}

std::string TcpFabric::silence_of(Rank peer) const {
  const double patience = stuck_after_ * ticks_to_loss(peer) / kTicksToLoss;
  return fmt::format("{} gave no sign of life for {:g} s", name_of(peer), patience);
}

void TcpFabric::pulse() {
  Message pulse;
  pulse.from = options_.self;
  for (const auto& connection : all_outgoing()) {
    connection->send(FrameKind::kPulse, pulse);
  }
}

void TcpFabric::set_stuck_after(double seconds) {
  stuck_after_ = seconds;
  asio::post(driver_.io(), [this, alive = alive_] {
    if (*alive && !ticks_) {
      ticks_ = true;
      tick();
    }
  });
}

void TcpFabric::tick() {
  const double patience = stuck_after_;
  if (patience <= 0) {
    ticks_ = false;
    return;
  }
  const auto all = incoming_;  // a loss changes it
  for (const auto& connection : all) {
    connection->check();
  }
  for (const auto& connection : all_outgoing()) {
    connection->check();
  }
  const std::chrono::duration<double> pause(patience / kTicksToLoss);
  tick_timer_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(pause));
  tick_timer_.async_wait([this, alive = alive_](const std::error_code& error) {
    if (!error && *alive) {
      tick();
    }
  });
}

}  // namespace motley
