#include "runtime/rendezvous/reach.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "base/descriptor.h"
#include "runtime/rendezvous/addresses.h"

namespace motley {
namespace {

using Clock = std::chrono::steady_clock;

// A socket that is being connected, or none if that failed at once.
Descriptor begin_to_connect(const Endpoint& there) {
  const auto addresses = resolve(there.host, there.port);
  if (!addresses || addresses->empty()) {
    return {};
  }
  const Address& address = addresses->front();
  Descriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool begins = socket && (connect(socket.get(), address.get(), address.size) == 0 ||
                                 errno == EINPROGRESS || errno == EINTR);
  return begins ? std::move(socket) : Descriptor();
}

bool is_connected(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
}

}  // namespace

std::vector<bool> reachable(const std::vector<Endpoint>& endpoints, Seconds patience) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(patience);
  std::vector<Descriptor> sockets;
  std::vector<pollfd> waits;
  for (const Endpoint& there : endpoints) {
    sockets.push_back(begin_to_connect(there));
    waits.push_back({sockets.back() ? sockets.back().get() : -1, POLLOUT, 0});
  }
  std::vector<bool> reached(endpoints.size(), false);
  const auto is_open = [](const pollfd& wait) { return wait.fd >= 0; };
  while (std::ranges::any_of(waits, is_open)) {
    const std::chrono::duration<double, std::milli> left = deadline - Clock::now();
    // Once more after the deadline: this process may have been stopped in the meantime.
    poll(waits.data(), waits.size(), std::max(0, static_cast<int>(left.count()) + 1));
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (is_open(waits[i]) && waits[i].revents != 0) {
        reached[i] = is_connected(waits[i].fd);
        waits[i].fd = -1;  // poll() leaves it out
      }
    }
    if (left.count() <= 0) {
      break;
    }
  }
  return reached;
}

}  // namespace motley
