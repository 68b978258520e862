#include "runtime/rendezvous/rendezvous.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/rendezvous/addresses.h"

namespace motley {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostConnections = 4096;         // more wait in the kernel's queue
constexpr std::chrono::milliseconds kLongestLook(10);  // per call; the rest waits for the next one
constexpr std::size_t kMostHeard = 256 << 20;          // bytes of unfinished requests

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::optional<std::int64_t> number_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

std::optional<Rank> rank_at(const Json& object) {
  const auto rank = number_at(object, "rank");
  const bool fits = rank && *rank >= std::numeric_limits<Rank>::min() &&
                    *rank <= std::numeric_limits<Rank>::max();
  return fits ? std::optional(static_cast<Rank>(*rank)) : std::nullopt;
}

// A JSON object of plain values. Nested values are dropped: they are not needed and could fill the
// memory.
Json parse_flat(const std::string& line) {
  const auto is_flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 1; };
  return line.starts_with('{') ? Json::parse(line, is_flat, false) : Json();
}

// A peer of another version may lack everything but its version.
Peer peer_from(const Json& object, const Endpoint& from) {
  Peer peer;
  peer.version = text_at(object, "motley");
  peer.rank = rank_at(object);
  peer.host = text_at(object, "host");
  peer.pid = number_at(object, "pid").value_or(0);
  peer.token = text_at(object, "token");
  peer.job = text_at(object, "job");
  peer.parameters = text_at(object, "parameters");
  if (peer.host.empty()) {
    peer.host = from.host;
  }
  return peer;
}

std::string trouble_with(const Address& address, int error) {
  const std::string where = show(address.endpoint());
  switch (error) {
    case EADDRINUSE:
      return where + " is in use";
    case EADDRNOTAVAIL:
      return where + " is not an address of this machine";
    default:
      return fmt::format("cannot listen at {}: {}", where, std::strerror(error));
  }
}

Result<Descriptor> listen_at(const Address& address) {
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      bind(socket.get(), address.get(), address.size) != 0 ||
      listen(socket.get(), SOMAXCONN) != 0) {
    return fail("{}", trouble_with(address, errno));
  }
  return socket;
}

}  // namespace

Result<std::unique_ptr<Rendezvous>> Rendezvous::open(const std::string& address, std::uint16_t port,
                                                     RendezvousRules rules) {
  const auto addresses = resolve(address, port);
  if (!addresses) {
    return fail("cannot listen at {}: {}", show({address, port}), addresses.error().message);
  }
  // A name may have addresses that this machine lacks, such as "localhost" without IPv6.
  Result<Descriptor> socket = listen_at(addresses->front());
  for (std::size_t next = 1; !socket && next < addresses->size(); ++next) {
    socket = listen_at((*addresses)[next]);
  }
  if (!socket) {
    return tl::unexpected(socket.error());
  }
  return std::unique_ptr<Rendezvous>(new Rendezvous(std::move(*socket), std::move(rules)));
}

Rendezvous::Rendezvous(Descriptor socket, RendezvousRules rules)
    : socket_(std::move(socket)),
      rules_(std::move(rules)),
      endpoint_(own_address(socket_.get()).endpoint()) {
  if (rules_.host.rank) {
    joined_[*rules_.host.rank] = {rules_.host, ""};
  }
}

void Rendezvous::look() {
  let_in();
  const auto end = Clock::now() + kLongestLook;
  std::erase_if(connections_, [&](PeerConnection& connection) {
    const bool over = Clock::now() < end && is_over(connection);
    held_ -= over ? connection.heard.size() : 0;
    return over;
  });
}

void Rendezvous::let_in() {
  const auto patience =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(rules_.patience));
  while (connections_.size() < kMostConnections) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      connections_.push_back({std::move(socket), Clock::now() + patience});
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;  // no one is waiting, or the limit on descriptors is reached
    }
  }
}

bool Rendezvous::is_over(PeerConnection& connection) {
  if (Clock::now() > connection.deadline) {
    return true;
  }
  if (connection.answer.empty()) {
    if (!hear(connection)) {
      return true;
    }
    const auto end = connection.heard.find('\n');
    if (end == std::string::npos) {
      return false;
    }
    const Endpoint from = peer_address(connection.socket.get()).endpoint();
    connection.answer = answer(connection.heard.substr(0, end), from);
  }
  const ssize_t sent = send(connection.socket.get(), connection.answer.data(),
                            connection.answer.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return !would_block();
  }
  connection.answer.erase(0, static_cast<std::size_t>(sent));
  return connection.answer.empty();
}

bool Rendezvous::hear(PeerConnection& connection) {
  std::array<char, 65'536> piece;
  while (true) {
    const ssize_t size = recv(connection.socket.get(), piece.data(), piece.size(), 0);
    if (size < 0) {
      return would_block();
    }
    if (size == 0) {
      return false;
    }
    const auto count = static_cast<std::size_t>(size);
    connection.heard.append(piece.data(), count);
    held_ += count;
    if (std::memchr(piece.data(), '\n', count) != nullptr) {
      return true;
    }
    if (connection.heard.size() > kLongestLine || held_ > kMostHeard) {
      return false;
    }
  }
}

std::string Rendezvous::answer(const std::string& line, const Endpoint& from) {
  Json told = {{"motley", rules_.host.version}};
  const Json said = parse_flat(line);
  if (!said.is_object() || text_at(said, "motley").empty()) {
    told["refused"] = "this is the rendezvous of a motley run: join it with `motley worker --join`";
  } else {
    Peer peer = peer_from(said, from);
    const std::string attempt = text_at(said, "attempt");
    if (is_here_already(peer, attempt)) {
      return "";
    }
    if (const auto reason = objection(peer, attempt)) {
      told["refused"] = fmt::format("refused by {}: {}", name_of_host(rules_.host), *reason);
    } else {
      told["rank"] = *peer.rank;
      told["token"] = rules_.fabric_token;
      told["port"] = rules_.fabric_port;
    }
  }
  return told.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A process joins once for each of its ranks: as a worker, and for servers beside it. The host may
// join its own rendezvous. A peer that repeats its attempt has not received the answer.
bool Rendezvous::is_here_already(const Peer& peer, const std::string& attempt) const {
  if (!peer.rank || peer.rank == rules_.host.rank) {
    return false;
  }
  const auto found = joined_.find(*peer.rank);
  const bool is_taken = found != joined_.end();
  if (is_of_this_run(*peer.rank) && (!is_taken || found->second.attempt == attempt)) {
    return false;
  }
  const auto is_same = [&](const auto& item) {
    const Peer& known = item.second.peer;
    return known.pid == peer.pid && known.host == peer.host && known.token == peer.token;
  };
  return is_taken ? is_same(*found) : std::ranges::any_of(joined_, is_same);
}

// Why this peer is refused. If it is not, it gets its rank.
std::optional<std::string> Rendezvous::objection(Peer& peer, const std::string& attempt) {
  const bool is_ours = peer.token == rules_.host.token;
  auto reason = version_difference(peer, rules_.host);
  if (!reason) {
    if (!is_ours) {
      return fmt::format("{} belongs to another run: its token (MOTLEY_TOKEN) differs",
                         name_of_peer(peer));
    }
    const auto rank = rank_for(peer, attempt);
    if (!rank) {
      return rank.error().message;
    }
    peer.rank = *rank;
    reason = conflict_ ? conflict_ : job_difference(peer, rules_.host);
    if (!reason) {
      reason = parameter_difference(peer, rules_.host);
    }
    if (!reason) {
      joined_[*rank] = {peer, attempt};
      return std::nullopt;
    }
  }
  // A stranger with another version must not end the run.
  if (is_ours && !conflict_) {
    conflict_ = reason;
    conflict_began_ = Clock::now();
  }
  return reason;
}

Result<Rank> Rendezvous::rank_for(const Peer& peer, const std::string& attempt) const {
  if (!peer.rank) {
    for (const auto& [rank, joined] : joined_) {
      if (!attempt.empty() && joined.attempt == attempt) {
        return rank;
      }
    }
    const auto free = missing();
    if (free.empty() || free.front() >= rules_.without_rank) {
      return fail("no rank is left for {}: all {} are taken", name_of_peer(peer),
                  std::min(rules_.ranks, rules_.without_rank - rules_.first));
    }
    return free.front();
  }
  const Rank rank = *peer.rank;
  if (const auto found = joined_.find(rank); found != joined_.end()) {
    const Peer& first = found->second.peer;
    const Peer& host = rules_.host;  // which may join its own rendezvous
    const bool is_host = rank == host.rank && peer.pid == host.pid && peer.host == host.host;
    const bool asks_again = !attempt.empty() && found->second.attempt == attempt;
    if (!is_host && !asks_again) {
      return fail("rank {} joined twice: first pid {} on {}, now pid {} on {}", rank, first.pid,
                  for_people(first.host), peer.pid, for_people(peer.host));
    }
  } else if (!is_of_this_run(rank)) {
    return fail("{} is not part of this run, which has ranks {} to {}", name_of_peer(peer),
                rules_.first, rules_.first + rules_.ranks - 1);
  }
  return rank;
}

std::optional<std::string> Rendezvous::conflict() const {
  const std::chrono::duration<double> since = Clock::now() - conflict_began_;
  return since.count() >= rules_.grace ? conflict_ : std::nullopt;
}

std::optional<Peer> Rendezvous::peer(Rank rank) const {
  const auto found = joined_.find(rank);
  return found == joined_.end() ? std::nullopt : std::optional(found->second.peer);
}

std::vector<Rank> Rendezvous::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = rules_.first; rank - rules_.first < rules_.ranks; ++rank) {
    if (!joined_.contains(rank)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace motley
