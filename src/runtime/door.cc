#include "runtime/door.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/addresses.h"

namespace motley {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostVisits = 4096;              // more wait in the kernel's queue
constexpr std::chrono::milliseconds kLongestLook(10);  // the rest waits for the next one
constexpr std::size_t kMostHeard = 256 << 20;  // bytes of visitors that are not done speaking

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

// An object of plain values. What is nested is not kept: nobody needs it, and it would be a way to
// fill our memory.
Json parse_flat(const std::string& line) {
  const auto is_flat = [](int depth, Json::parse_event_t, Json&) { return depth <= 1; };
  return line.starts_with('{') ? Json::parse(line, is_flat, false) : Json();
}

// Of another version, all but its version may be missing.
Visitor visitor_from(const Json& object, const Endpoint& from) {
  Visitor visitor;
  visitor.version = text_at(object, "motley");
  visitor.rank = rank_at(object);
  visitor.host = text_at(object, "host");
  visitor.pid = number_at(object, "pid").value_or(0);
  visitor.token = text_at(object, "token");
  visitor.job = text_at(object, "job");
  visitor.parameters = text_at(object, "parameters");
  if (visitor.host.empty()) {
    visitor.host = from.host;
  }
  return visitor;
}

std::string trouble_with(const Address& address, int error) {
  const std::string where = show(address.endpoint());
  switch (error) {
    case EADDRINUSE:
      return where + " is in use";
    case EADDRNOTAVAIL:
      return where + " is no address of this machine";
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

Result<std::unique_ptr<Door>> Door::open(const std::string& address, std::uint16_t port,
                                         DoorRules rules) {
  const auto addresses = resolve(address, port);
  if (!addresses) {
    return fail("cannot listen at {}: {}", show({address, port}), addresses.error().message);
  }
  // A name may have addresses that this machine does not, as "localhost" where there is no IPv6.
  Result<Descriptor> socket = listen_at(addresses->front());
  for (std::size_t next = 1; !socket && next < addresses->size(); ++next) {
    socket = listen_at((*addresses)[next]);
  }
  if (!socket) {
    return tl::unexpected(socket.error());
  }
  return std::unique_ptr<Door>(new Door(std::move(*socket), std::move(rules)));
}

Door::Door(Descriptor socket, DoorRules rules)
    : socket_(std::move(socket)),
      rules_(std::move(rules)),
      endpoint_(own_address(socket_.get()).endpoint()) {
  if (rules_.host.rank) {
    guests_[*rules_.host.rank] = {rules_.host, ""};
  }
}

void Door::look() {
  let_in();
  const auto end = Clock::now() + kLongestLook;
  std::erase_if(visits_, [&](Visit& visit) {
    const bool over = Clock::now() < end && is_over(visit);
    held_ -= over ? visit.heard.size() : 0;
    return over;
  });
}

void Door::let_in() {
  const auto patience =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(rules_.patience));
  while (visits_.size() < kMostVisits) {
    Descriptor socket(accept4(socket_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      visits_.push_back({std::move(socket), Clock::now() + patience});
    } else if (errno != ECONNABORTED && errno != EINTR) {
      return;  // nobody there, or no room for more files: they wait
    }
  }
}

bool Door::is_over(Visit& visit) {
  if (Clock::now() > visit.deadline) {
    return true;
  }
  if (visit.answer.empty()) {
    if (!hear(visit)) {
      return true;
    }
    const auto end = visit.heard.find('\n');
    if (end == std::string::npos) {
      return false;
    }
    const Endpoint from = peer_address(visit.socket.get()).endpoint();
    visit.answer = answer(visit.heard.substr(0, end), from);
  }
  const ssize_t sent =
      send(visit.socket.get(), visit.answer.data(), visit.answer.size(), MSG_NOSIGNAL);
  if (sent < 0) {
    return !would_block();
  }
  visit.answer.erase(0, static_cast<std::size_t>(sent));
  return visit.answer.empty();
}

bool Door::hear(Visit& visit) {
  std::array<char, 65'536> piece;
  while (true) {
    const ssize_t size = recv(visit.socket.get(), piece.data(), piece.size(), 0);
    if (size < 0) {
      return would_block();
    }
    if (size == 0) {
      return false;
    }
    const auto count = static_cast<std::size_t>(size);
    visit.heard.append(piece.data(), count);
    held_ += count;
    if (std::memchr(piece.data(), '\n', count) != nullptr) {
      return true;
    }
    if (visit.heard.size() > kLongestLine || held_ > kMostHeard) {
      return false;
    }
  }
}

std::string Door::answer(const std::string& line, const Endpoint& from) {
  Json told = {{"motley", rules_.host.version}};
  const Json said = parse_flat(line);
  if (!said.is_object() || text_at(said, "motley").empty()) {
    told["refused"] = "this is the door of a run of motley: use `motley worker --join`";
  } else {
    Visitor visitor = visitor_from(said, from);
    const std::string visit = text_at(said, "visit");
    if (is_here_already(visitor, visit)) {
      return "";
    }
    if (const auto reason = objection(visitor, visit)) {
      told["refused"] = fmt::format("refused by {}: {}", name_of_host(rules_.host), *reason);
    } else {
      told["rank"] = *visitor.rank;
      told["token"] = rules_.fabric_token;
      told["port"] = rules_.fabric_port;
    }
  }
  return told.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A process comes once for each rank that it has: as a worker, and for servers beside it. The host
// may come through its own door; who asks again has not heard the answer.
bool Door::is_here_already(const Visitor& visitor, const std::string& visit) const {
  if (!visitor.rank || visitor.rank == rules_.host.rank) {
    return false;
  }
  const auto found = guests_.find(*visitor.rank);
  const bool is_taken = found != guests_.end();
  if (is_of_this_run(*visitor.rank) && (!is_taken || found->second.visit == visit)) {
    return false;
  }
  const auto is_same = [&](const auto& item) {
    const Visitor& guest = item.second.visitor;
    return visitor.pid == guest.pid && visitor.host == guest.host && visitor.token == guest.token;
  };
  return is_taken ? is_same(*found) : std::ranges::any_of(guests_, is_same);
}

// Why this visitor cannot come in; otherwise it has its rank.
std::optional<std::string> Door::objection(Visitor& visitor, const std::string& visit) {
  const bool is_ours = visitor.token == rules_.host.token;
  auto reason = version_difference(visitor, rules_.host);
  if (!reason) {
    if (!is_ours) {
      return fmt::format("{} is of another run: its token (MOTLEY_TOKEN) is not ours",
                         name_of_guest(visitor));
    }
    const auto rank = rank_for(visitor, visit);
    if (!rank) {
      return rank.error().message;
    }
    visitor.rank = *rank;
    reason = quarrel_ ? quarrel_ : job_difference(visitor, rules_.host);
    if (!reason) {
      reason = parameter_difference(visitor, rules_.host);
    }
    if (!reason) {
      guests_[*rank] = {visitor, visit};
      return std::nullopt;
    }
  }
  // A stranger of another version is no reason to end a run.
  if (is_ours && !quarrel_) {
    quarrel_ = reason;
    quarrel_began_ = Clock::now();
  }
  return reason;
}

Result<Rank> Door::rank_for(const Visitor& visitor, const std::string& visit) const {
  if (!visitor.rank) {
    for (const auto& [rank, guest] : guests_) {
      if (!visit.empty() && guest.visit == visit) {
        return rank;
      }
    }
    const auto free = missing();
    if (free.empty() || free.front() >= rules_.without_rank) {
      return fail("no rank is left for {}: all {} are taken", name_of_guest(visitor),
                  std::min(rules_.ranks, rules_.without_rank - rules_.first));
    }
    return free.front();
  }
  const Rank rank = *visitor.rank;
  if (const auto found = guests_.find(rank); found != guests_.end()) {
    const Visitor& first = found->second.visitor;
    const Visitor& host = rules_.host;  // which may come through its own door
    const bool is_host = rank == host.rank && visitor.pid == host.pid && visitor.host == host.host;
    const bool asks_again = !visit.empty() && found->second.visit == visit;
    if (!is_host && !asks_again) {
      return fail("rank {} came twice: first pid {} on {}, now pid {} on {}", rank, first.pid,
                  for_people(first.host), visitor.pid, for_people(visitor.host));
    }
  } else if (!is_of_this_run(rank)) {
    return fail("{} is none of this run, which has ranks {} to {}", name_of_guest(visitor),
                rules_.first, rules_.first + rules_.ranks - 1);
  }
  return rank;
}

std::optional<std::string> Door::quarrel() const {
  const std::chrono::duration<double> since = Clock::now() - quarrel_began_;
  return since.count() >= rules_.grace ? quarrel_ : std::nullopt;
}

std::optional<Visitor> Door::guest(Rank rank) const {
  const auto found = guests_.find(rank);
  return found == guests_.end() ? std::nullopt : std::optional(found->second.visitor);
}

std::vector<Rank> Door::missing() const {
  std::vector<Rank> ranks;
  for (Rank rank = rules_.first; rank - rules_.first < rules_.ranks; ++rank) {
    if (!guests_.contains(rank)) {
      ranks.push_back(rank);
    }
  }
  return ranks;
}

}  // namespace motley
