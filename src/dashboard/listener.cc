#include "dashboard/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

namespace motley {
namespace {

constexpr int kBacklog = 64;
// How long a silent peer (a sleeping machine) is kept.
constexpr unsigned kSilenceMilliseconds = 10'000;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<Addresses> look_up(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int problem = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (problem != 0) {
    return fail("cannot listen on {}: {}", host, gai_strerror(problem));
  }
  return Addresses(found, &freeaddrinfo);
}

// A listening socket, or -1 (errno).
int listen_at(const addrinfo& address) {
  const int socket = ::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) {
    return -1;
  }
  // The port is free as soon as its owner is gone, although old connections linger.
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket, address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket, kBacklog) == 0) {
    return socket;
  }
  const int problem = errno;
  ::close(socket);
  errno = problem;
  return -1;
}

bool is_loopback_v4(const in_addr& address) { return (ntohl(address.s_addr) >> 24) == 127; }

struct Bound {
  int port;
  bool is_loopback;
  bool is_any;
};

Bound bound_to(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  if (address.ss_family == AF_INET6) {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
    return {ntohs(v6.sin6_port), IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) != 0,
            IN6_IS_ADDR_UNSPECIFIED(&v6.sin6_addr) != 0};
  }
  const auto& v4 = reinterpret_cast<const sockaddr_in&>(address);
  return {ntohs(v4.sin_port), is_loopback_v4(v4.sin_addr), v4.sin_addr.s_addr == INADDR_ANY};
}

std::string url_of(const std::string& host, const Bound& bound) {
  const bool needs_brackets = host.find(':') != std::string::npos;
  const std::string shown =
      bound.is_any ? "localhost" : (needs_brackets ? fmt::format("[{}]", host) : host);
  return fmt::format("http://{}:{}/", shown, bound.port);
}

}  // namespace

Result<Listener> Listener::open(const std::string& host, int port) {
  if (port < 0 || port > 65'535) {
    return fail("invalid port {} (1 to 65535, or 0 for any free port)", port);
  }
  const auto addresses = look_up(host, port);
  if (!addresses) {
    return tl::unexpected(addresses.error());
  }
  int problem = 0;
  for (const addrinfo* each = addresses->get(); each != nullptr; each = each->ai_next) {
    if (const int socket = listen_at(*each); socket >= 0) {
      const Bound bound = bound_to(socket);
      return Listener(socket, url_of(host, bound), bound.is_loopback);
    }
    problem = errno;
    if (problem == EADDRINUSE) {
      return fail("port {} is already in use", port);
    }
  }
  return fail("cannot listen on {}: {}", host, std::generic_category().message(problem));
}

Listener::Listener(int socket, std::string url, bool is_loopback)
    : socket_(socket), url_(std::move(url)), is_loopback_(is_loopback) {}

Listener::Listener(Listener&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      url_(std::move(other.url_)),
      is_loopback_(other.is_loopback_) {}

Listener::~Listener() {
  if (socket_ >= 0) {
    ::close(socket_);
  }
}

int Listener::accept() const {
  const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0) {
    const int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &kSilenceMilliseconds,
               sizeof kSilenceMilliseconds);
  }
  return socket;
}

void Listener::close() const { ::shutdown(socket_, SHUT_RDWR); }

bool names_loopback(std::string_view host) {
  std::string name(host);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  const std::size_t colon = name.rfind(':');
  if (colon != std::string::npos && name.find(']', colon) == std::string::npos) {
    const bool is_port = std::all_of(name.begin() + static_cast<std::ptrdiff_t>(colon) + 1,
                                     name.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_port) {
      return false;
    }
    name.resize(colon);
  }
  if (name.starts_with('[') && name.ends_with(']')) {
    in6_addr address{};
    return inet_pton(AF_INET6, name.substr(1, name.size() - 2).c_str(), &address) == 1 &&
           IN6_IS_ADDR_LOOPBACK(&address);
  }
  in_addr address{};
  return name == "localhost" || name == "localhost." ||
         (inet_pton(AF_INET, name.c_str(), &address) == 1 && is_loopback_v4(address));
}

}  // namespace motley
