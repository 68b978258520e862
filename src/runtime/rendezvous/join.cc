#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "motley/version.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/rendezvous.h"

namespace motley {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause(20);  // before a retry; doubles each time
constexpr milliseconds kLongestPause(500);
constexpr std::chrono::duration<int, std::milli> kGlance(100);  // between two checks for signals
constexpr Seconds kLongestWait = 1e8;  // years; more does not fit into a clock
// For one address to answer; after that, other addresses of the same name are tried.
constexpr auto kConnectPatience = std::chrono::seconds(5);

// How long a peer waits: until a deadline or an interruption.
class Patience {
 public:
  Patience(Seconds seconds, const Interruption& interrupted)
      : deadline_(Clock::now() + as_duration(std::min(seconds, kLongestWait))),
        interrupted_(interrupted) {}

  // The same, but at most for `time`.
  Patience at_most(Clock::duration time) const {
    Patience shorter = *this;
    shorter.deadline_ = std::min(deadline_, Clock::now() + time);
    return shorter;
  }

  bool is_over() const { return Clock::now() >= deadline_ || why_interrupted(); }
  std::optional<std::string> why_interrupted() const {
    return interrupted_ ? interrupted_() : std::nullopt;
  }

  // Waits until the socket is readable or writable. False if the wait is over.
  bool wait_for(int socket, short events) const {
    do {
      pollfd ready{socket, events, 0};
      if (poll(&ready, 1, kGlance.count()) > 0) {
        return true;
      }
    } while (!is_over());
    return false;
  }

  // False if the wait is over afterwards.
  bool sleep(milliseconds time) const {
    const Patience pause = at_most(time);
    while (!pause.is_over()) {
      std::this_thread::sleep_until(std::min(pause.deadline_, Clock::now() + kGlance));
    }
    return !is_over();
  }

 private:
  static Clock::duration as_duration(Seconds seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  Clock::time_point deadline_;
  const Interruption& interrupted_;
};

// A connected socket, or the system's error.
tl::expected<Descriptor, int> connect_to(const Address& address, const Patience& patience) {
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket) {
    return tl::unexpected(errno);
  }
  int error = connect(socket.get(), address.get(), address.size) == 0 ? 0 : errno;
  if (error == EINPROGRESS || error == EINTR) {
    if (!patience.at_most(kConnectPatience).wait_for(socket.get(), POLLOUT)) {
      return tl::unexpected(ETIMEDOUT);
    }
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    return tl::unexpected(error);
  }
  // If nothing listens, the kernel may choose that very port for this side and connect the socket
  // to itself.
  if (show(own_address(socket.get()).endpoint()) == show(peer_address(socket.get()).endpoint())) {
    return tl::unexpected(ECONNREFUSED);
  }
  return socket;
}

// Sends a line. False if the other side is gone or does not accept it in time.
bool say(int socket, const std::string& line, const Patience& patience) {
  std::size_t said = 0;
  while (said < line.size()) {
    const ssize_t size = send(socket, line.data() + said, line.size() - said, MSG_NOSIGNAL);
    if (size >= 0) {
      said += static_cast<std::size_t>(size);
    } else if (!would_block() || !patience.wait_for(socket, POLLOUT)) {
      return false;
    }
  }
  return true;
}

// Receives a line. nullopt if the other side closes before its end or is silent for too long.
std::optional<std::string> hear(int socket, const Patience& patience) {
  std::string heard;
  std::array<char, 4096> piece;
  while (heard.size() <= kLongestLine) {
    const ssize_t size = recv(socket, piece.data(), piece.size(), 0);
    if (size > 0) {
      heard.append(piece.data(), static_cast<std::size_t>(size));
      if (const auto end = heard.find('\n'); end != std::string::npos) {
        return heard.substr(0, end);
      }
    } else if (size == 0 || !would_block() || !patience.wait_for(socket, POLLIN)) {
      return std::nullopt;
    }
  }
  return heard;  // too long: cannot be parsed
}

std::string line_of(const Peer& me) {
  std::random_device device;  // only needs to differ between attempts
  Json said = {{"motley", me.version},
               {"host", me.host},
               {"pid", me.pid},
               {"token", me.token},
               {"job", me.job},
               {"parameters", me.parameters},
               {"attempt", fmt::format("{:08x}{:08x}", device(), device())}};
  if (me.rank) {
    said["rank"] = *me.rank;
  }
  return said.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Admission> understand(const std::string& line, int socket) {
  const Endpoint rendezvous = peer_address(socket).endpoint();
  const Json told = Json::parse(line, nullptr, false);
  if (told.is_object() && told.contains("refused") && told["refused"].is_string()) {
    return fail("{}", for_people(told["refused"].get<std::string>(), 2000));
  }
  const auto is = [&](const char* key, auto type) {
    return told.is_object() && told.contains(key) && (told[key].*type)();
  };
  if (!is("rank", &Json::is_number_integer) || !is("token", &Json::is_string) ||
      !is("port", &Json::is_number_unsigned)) {
    return fail("{} is not a motley rendezvous: it answered \"{}\"", show(rendezvous),
                for_people(line));
  }
  Admission admission;
  admission.rank = told["rank"].get<Rank>();
  admission.token = told["token"].get<std::string>();
  admission.coordinator = {rendezvous.host, told["port"].get<std::uint16_t>()};
  admission.here = own_address(socket).endpoint().host;
  return admission;
}

// Why there is no answer yet, as part of a sentence.
std::string absence(const Endpoint& rendezvous, int error) {
  if (error == ECONNREFUSED) {
    return "nothing listens at " + show(rendezvous);
  }
  return fmt::format("{} cannot be reached ({})", show(rendezvous), std::strerror(error));
}

// One attempt at all addresses of the rendezvous: an answer, or why there is none.
struct Attempt {
  std::optional<Result<Admission>> answer;
  std::string trouble;
};

Attempt attempt(const Endpoint& rendezvous, const std::string& line, const Patience& patience) {
  const auto addresses = resolve(rendezvous.host, rendezvous.port);
  if (!addresses) {
    return {{}, fmt::format("{} cannot be found ({})", rendezvous.host, addresses.error().message)};
  }
  Attempt result;
  for (const Address& address : *addresses) {
    const auto socket = connect_to(address, patience);
    if (!socket) {
      result.trouble = absence(rendezvous, socket.error());
      continue;
    }
    std::optional<std::string> heard;
    if (say(socket->get(), line, patience)) {
      heard = hear(socket->get(), patience);
    }
    if (heard) {
      return {understand(*heard, socket->get()), {}};
    }
    return {{}, show(rendezvous) + " does not answer"};
  }
  return result;
}

}  // namespace

Peer peer_of_this_process() {
  Peer peer;
  peer.version = kVersion;
  peer.pid = getpid();
  std::array<char, 256> name{};
  peer.host = gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "?";
  return peer;
}

Result<Admission> join_rendezvous(const Endpoint& rendezvous, const Peer& me, Seconds deadline,
                                  const Interruption& interrupted) {
  const std::string line = line_of(me);
  if (line.size() > kLongestLine) {
    return fail("the description of {}'s job and model is too long: {} bytes (at most {})",
                name_of_peer(me), line.size(), kLongestLine);
  }
  const Patience patience(deadline, interrupted);
  for (auto pause = kFirstPause;; pause = std::min(pause * 2, kLongestPause)) {
    Attempt tried = attempt(rendezvous, line, patience);
    if (tried.answer) {
      return std::move(*tried.answer);
    }
    if (!patience.sleep(pause)) {
      if (const auto why = patience.why_interrupted()) {
        return fail("{}", *why);
      }
      return fail("timed out after {:g} s waiting for {}: {}", deadline,
                  me.rank ? "rank 0" : "the coordinator", tried.trouble);
    }
  }
}

}  // namespace motley
