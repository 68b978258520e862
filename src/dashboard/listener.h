// Listener: a listening socket, and which host names lead to it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace motley {

class Listener {
 public:
  // `host` is a name or an address; port 0 means any free port. The socket is neither shared with
  // other processes nor inherited by children. Fails with a one-line message.
  static Result<Listener> open(const std::string& host, int port);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  // Waits for a connection and returns a non-blocking socket, which the caller owns. -1 if there is
  // none (errno), for example after close().
  int accept() const;
  // Ends every current and later accept(). Thread-safe.
  void close() const;

  // "http://127.0.0.1:8420/"
  const std::string& url() const { return url_; }
  // True if only this machine can reach it.
  bool is_loopback() const { return is_loopback_; }

 private:
  Listener(int socket, std::string url, bool is_loopback);

  int socket_;  // -1 after a move
  std::string url_;
  bool is_loopback_;
};

// True if a Host header names this machine in a way that no DNS server can redirect: localhost,
// 127.0.0.0/8 or [::1], with or without a port.
bool names_loopback(std::string_view host);

}  // namespace motley
