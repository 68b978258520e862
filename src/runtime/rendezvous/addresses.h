// Sockets and their addresses: resolving names, printing addresses.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "fabric/fabric.h"

namespace motley {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = sizeof bytes;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&bytes); }
  int family() const { return bytes.ss_family; }
  // With a numeric host.
  Endpoint endpoint() const;
};

// All addresses of a host name or a numeric address. May block on a name server. The error is the
// system's reason.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

Address own_address(int socket);
Address peer_address(int socket);

// After a failed call on a non-blocking descriptor: whether the call can be retried later.
bool would_block();

// "10.0.0.1:29500", "[::1]:29500"
std::string show(const Endpoint& endpoint);
// Parses it again; the host may also be a name. The error names the text.
Result<Endpoint> parse_endpoint(const std::string& text);

// All addresses of this machine. In a listening address it means "the machine of the coordinator".
inline constexpr const char* kAnyAddress = "0.0.0.0";

// True if the host is a numeric address.
bool is_number(const std::string& host);

// The address on which a process listens that others know as `host`: that address, if it is numeric
// and belongs to this machine; all addresses, if it is a name, which may resolve differently here
// than elsewhere.
std::string address_to_listen_on(const std::string& host);

}  // namespace motley
