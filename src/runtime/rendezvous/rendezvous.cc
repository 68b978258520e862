#include "runtime/rendezvous/rendezvous.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/rendezvous/addresses.h"

namespace motley {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMostConnections = 4096;         // more wait in the kernel's queue
constexpr std::chrono::milliseconds kLongestLook(10);  // per call; the rest waits for the next one
constexpr std::size_t kMostHeard = 256 << 20;          // bytes of unfinished requests
constexpr std::size_t kLongestWord = 256;              // of what is remembered of each peer

std::string text_at(const OrderedJson& object, const char* key,
                    std::size_t longest = kLongestLine) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>().substr(0, longest)
                                                     : "";
}

std::optional<std::int64_t> number_at(const OrderedJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_integer()
             ? std::optional(found->get<std::int64_t>())
             : std::nullopt;
}

std::optional<Rank> rank_at(const OrderedJson& object) {
  const auto rank = number_at(object, "rank");
  const bool fits = rank && *rank >= std::numeric_limits<Rank>::min() &&
                    *rank <= std::numeric_limits<Rank>::max();
  return fits ? std::optional(static_cast<Rank>(*rank)) : std::nullopt;
}

// A JSON object of plain values. Nested values are dropped: they are not needed and could fill the
// memory.
OrderedJson parse_flat(const std::string& line) {
  const auto is_flat = [](int depth, OrderedJson::parse_event_t, OrderedJson&) {
    return depth <= 1;
  };
  return line.starts_with('{') ? OrderedJson::parse(line, is_flat, false) : OrderedJson();
}

// A peer of another version may lack everything but its version.
Peer peer_from(const OrderedJson& object, const Endpoint& from) {
  Peer peer;
  peer.version = text_at(object, "motley");
  peer.rank = rank_at(object);
  peer.host = text_at(object, "host", kLongestWord);
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
      endpoint_(own_address(socket_.get()).endpoint()),
      places_(rules_.host, rules_.first, rules_.ranks, rules_.without_rank) {}

// The run goes on, whatever was said before.
void Rendezvous::let_late_in() {
  places_.let_late_in();
  conflict_.reset();
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
  const OrderedJson said = parse_flat(line);
  OrderedJson told;
  if (!said.is_object() || text_at(said, "motley").empty()) {
    told["refused"] = "this is the rendezvous of a motley run: join it with `motley worker --join`";
  } else {
    told = said.contains("request") ? answer_request(said) : answer_peer(said, from);
  }
  if (told.is_null()) {
    return "";
  }
  told["motley"] = rules_.host.version;
  return told.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

// Null: no answer for now.
OrderedJson Rendezvous::answer_peer(const OrderedJson& said, const Endpoint& from) {
  const Peer peer = peer_from(said, from);
  const std::string attempt = text_at(said, "attempt", kLongestWord);
  const Placing place = places_.place_for(peer, attempt);
  if (peer.token == rules_.host.token && place.kind == Placing::Kind::kLater) {
    return {};
  }
  if (const auto reason = objection(peer, place)) {
    return {{"refused", fmt::format("refused by {}: {}", name_of_host(rules_.host), *reason)}};
  }
  places_.take(place.process, peer, attempt);
  return {{"rank", place.process}, {"token", rules_.fabric_token}, {"port", rules_.fabric_port}};
}

// Whatever is wrong with a request, the run goes on.
OrderedJson Rendezvous::answer_request(const OrderedJson& said) {
  const std::string host = name_of_host(rules_.host);
  if (text_at(said, "token") != rules_.host.token) {
    return {
        {"refused", fmt::format("refused by {}: the request is meant for another run: its token "
                                "(MOTLEY_TOKEN) differs",
                                host)}};
  }
  if (const std::string version = text_at(said, "motley"); version != rules_.host.version) {
    return {{"refused", fmt::format("refused by {}: it has motley {}, the request is from {}", host,
                                    rules_.host.version, for_people(version))}};
  }
  return requests_.answer({text_at(said, "request"), number_at(said, "worker")});
}

// Why this peer is refused. A stranger must not end the run, and learns nothing about its places.
std::optional<std::string> Rendezvous::objection(const Peer& peer, const Placing& place) {
  const bool is_ours = peer.token == rules_.host.token;
  auto reason = version_difference(peer, rules_.host);
  if (!reason && !is_ours) {
    return fmt::format("{} belongs to another run: its token (MOTLEY_TOKEN) differs",
                       name_of_peer(peer));
  }
  if (!reason && place.kind == Placing::Kind::kRefused) {
    return place.why;
  }
  if (!reason) {
    Peer named = peer;
    if (!places_.lets_late_in()) {
      named.rank = place.process;
    }
    reason = conflict_ ? conflict_ : job_difference(named, rules_.host);
    if (!reason) {
      reason = parameter_difference(named, rules_.host);
    }
  }
  if (reason && is_ours && !conflict_ && !places_.lets_late_in()) {
    conflict_ = reason;
    conflict_began_ = Clock::now();
  }
  return reason;
}

std::optional<std::string> Rendezvous::conflict() const {
  const std::chrono::duration<double> since = Clock::now() - conflict_began_;
  return since.count() >= rules_.grace ? conflict_ : std::nullopt;
}

}  // namespace motley
