#include "runtime/rendezvous/exchange.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <tl/expected.hpp>
#include <utility>

#include "runtime/rendezvous/addresses.h"

namespace motley {
namespace {

constexpr std::chrono::duration<int, std::milli> kGlance(100);  // between two checks for signals
constexpr Seconds kLongestWait = 1e8;  // years; more does not fit into a clock
// For one address to answer; after that, other addresses of the same name are tried.
constexpr auto kConnectPatience = std::chrono::seconds(5);

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
std::optional<std::string> hear(int socket, const Patience& patience, std::size_t longest) {
  std::string heard;
  std::array<char, 4096> piece;
  while (heard.size() <= longest) {
    const ssize_t size = recv(socket, piece.data(), piece.size(), 0);
    if (size > 0) {
      const std::size_t before = heard.size();
      heard.append(piece.data(), static_cast<std::size_t>(size));
      if (const auto end = heard.find('\n', before); end != std::string::npos) {
        return heard.substr(0, end);
      }
    } else if (size == 0 || !would_block() || !patience.wait_for(socket, POLLIN)) {
      return std::nullopt;
    }
  }
  return heard;  // too long: cannot be parsed
}

// Why there is no answer yet, as part of a sentence.
std::string absence(const Endpoint& rendezvous, int error) {
  if (error == ECONNREFUSED) {
    return "nothing listens at " + show(rendezvous);
  }
  return fmt::format("{} cannot be reached ({})", show(rendezvous), std::strerror(error));
}

}  // namespace

Patience::Patience(Seconds seconds, const Interruption& interrupted)
    : deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(std::min(seconds, kLongestWait)))),
      interrupted_(interrupted) {}

Patience Patience::at_most(Clock::duration time) const {
  Patience shorter = *this;
  shorter.deadline_ = std::min(deadline_, Clock::now() + time);
  return shorter;
}

bool Patience::wait_for(int socket, short events) const {
  do {
    pollfd ready{socket, events, 0};
    if (poll(&ready, 1, kGlance.count()) > 0) {
      return true;
    }
  } while (!is_over());
  return false;
}

bool Patience::sleep(std::chrono::milliseconds time) const {
  const Patience pause = at_most(time);
  while (!pause.is_over()) {
    std::this_thread::sleep_until(std::min(pause.deadline_, Clock::now() + kGlance));
  }
  return !is_over();
}

Exchanged exchange_lines(const Endpoint& there, const std::string& line, const Patience& patience,
                         std::size_t longest) {
  Exchanged result;
  const auto addresses = resolve(there.host, there.port);
  if (!addresses) {
    result.trouble = fmt::format("{} cannot be found ({})", there.host, addresses.error().message);
    return result;
  }
  for (const Address& address : *addresses) {
    auto socket = connect_to(address, patience);
    if (!socket) {
      result.trouble = absence(there, socket.error());
      continue;
    }
    result.socket = std::move(*socket);
    if (say(result.socket.get(), line, patience)) {
      result.heard = hear(result.socket.get(), patience, longest);
    }
    result.trouble = result.heard ? "" : show(there) + " does not answer";
    return result;
  }
  return result;
}

}  // namespace motley
