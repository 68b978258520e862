// Sockets and their addresses: names to addresses, addresses to text.
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
  // In numbers.
  Endpoint endpoint() const;
};

// All addresses of a name, or the one that is written in numbers; may ask a name server, and wait
// for it. The error is the system's reason.
Result<std::vector<Address>> resolve(const std::string& host, std::uint16_t port);

Address own_address(int socket);
Address peer_address(int socket);

// After a call that failed on a descriptor that does not block: it may be made again later.
bool would_block();

// "10.0.0.1:29500", "[::1]:29500"
std::string show(const Endpoint& endpoint);
// The same back; a host may be a name. The error names the text.
Result<Endpoint> parse_endpoint(const std::string& text);

// Every address of this machine. As where somebody listens, it says: where its coordinator is.
inline constexpr const char* kAnyAddress = "0.0.0.0";

// Whether a host is an address in numbers, as they are written.
bool is_number(const std::string& host);

// Where a process listens that others know as `host`: there, if that is an address of this machine
// in numbers; on all of them if it is a name, which may mean another address here than elsewhere.
std::string address_to_listen_on(const std::string& host);

}  // namespace motley
