// RawClient: one connection to a web server, byte by byte, so that a test can violate the protocol.
// Waits at most 20 s for data, then throws.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace motley {

class RawClient {
 public:
  static constexpr std::chrono::seconds kPatience{20};

  // `url` is like "http://127.0.0.1:8420/" or "http://[::1]:8420/". `receive_buffer` limits the
  // bytes that the kernel buffers; 0: no limit.
  explicit RawClient(const std::string& url, int receive_buffer = 0) {
    const bool is_v6 = url.starts_with("http://[");
    const std::size_t colon = url.rfind(':');
    const auto port = htons(static_cast<std::uint16_t>(std::atoi(url.c_str() + colon + 1)));
    socket_ = ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (receive_buffer > 0) {
      setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = port;
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = port;
    v6.sin6_addr = in6addr_loopback;
    const auto* address =
        is_v6 ? reinterpret_cast<const sockaddr*>(&v6) : reinterpret_cast<const sockaddr*>(&v4);
    if (::connect(socket_, address, is_v6 ? sizeof v6 : sizeof v4) != 0) {
      ::close(socket_);
      throw std::runtime_error("cannot connect to " + url);
    }
  }
  ~RawClient() { close(); }
  RawClient(RawClient&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), got_(std::move(other.got_)) {}
  RawClient& operator=(RawClient&&) = delete;

  void close() {
    if (socket_ >= 0) {
      ::close(socket_);
    }
    socket_ = -1;
  }

  // False if the other side accepts no more.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t size = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (size < 0) {
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(size));
    }
    return true;
  }
  RawClient& get(std::string_view path, std::string_view host = "localhost") {
    send("GET " + std::string(path) + " HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n");
    return *this;
  }

  // Removes and returns what has arrived, up to and including the first `end`.
  std::string until(std::string_view end) {
    std::size_t at = std::string::npos;
    for (std::size_t from = 0; (at = got_.find(end, from)) == std::string::npos;) {
      from = got_.size() - std::min(got_.size(), end.size() - 1);
      if (!more()) {
        throw std::runtime_error("the end came before " + std::string(end));
      }
    }
    std::string taken = got_.substr(0, at + end.size());
    got_.erase(0, at + end.size());
    return taken;
  }
  // Everything that arrives until the other side closes.
  std::string rest() {
    while (more()) {
    }
    return std::exchange(got_, {});
  }

 private:
  // False if nothing more will come.
  bool more() {
    pollfd ready{socket_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kPatience).count())) <= 0) {
      throw std::runtime_error("timed out waiting for data");
    }
    char piece[65'536];
    const ssize_t size = ::recv(socket_, piece, sizeof piece, 0);
    if (size > 0) {
      got_.append(piece, static_cast<std::size_t>(size));
    }
    return size > 0;
  }

  int socket_ = -1;
  std::string got_;
};

}  // namespace motley
