#include "runtime/rendezvous/addresses.h"

#include <netdb.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "base/descriptor.h"

namespace motley {

Endpoint Address::endpoint() const {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  if (getnameinfo(get(), size, host.data(), host.size(), port.data(), port.size(),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return {};
  }
  return {host.data(), static_cast<std::uint16_t>(std::stoi(port.data()))};
}

Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail("{}", error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> keeper(found, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    Address address;
    std::memcpy(&address.bytes, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

Address own_address(int socket) {
  Address address;
  getsockname(socket, address.get(), &address.size);
  return address;
}

Address peer_address(int socket) {
  Address address;
  getpeername(socket, address.get(), &address.size);
  return address;
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

std::string show(const Endpoint& endpoint) {
  const bool is_v6 = endpoint.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", endpoint.host, endpoint.port)
               : fmt::format("{}:{}", endpoint.host, endpoint.port);
}

Result<Endpoint> parse_endpoint(const std::string& text) {
  const auto colon = text.rfind(':');
  const char* end = text.data() + text.size();
  Endpoint endpoint;
  endpoint.host = text.substr(0, colon);
  if (endpoint.host.starts_with('[') && endpoint.host.ends_with(']')) {
    endpoint.host = endpoint.host.substr(1, endpoint.host.size() - 2);
  }
  if (colon != std::string::npos && !endpoint.host.empty()) {
    const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, endpoint.port);
    if (error == std::errc() && rest == end) {
      return endpoint;
    }
  }
  return fail("{}: expected HOST:PORT", text);
}

bool is_number(const std::string& host) {
  const auto addresses = resolve(host, 0);
  return addresses && !addresses->empty() && addresses->front().endpoint().host == host;
}

std::string address_to_listen_on(const std::string& host) {
  if (host == "localhost") {
    return "127.0.0.1";
  }
  if (!is_number(host)) {
    return kAnyAddress;
  }
  const Address address = resolve(host, 0)->front();
  const Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::bind(socket.get(), address.get(), address.size) == 0 ? host : kAnyAddress;
}

}  // namespace motley
