// Listener: a socket that takes connections, and which names lead to it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace motley {

class Listener {
 public:
  // `host` is a name or an address; port 0 is any that is free. Not shared with others, not
  // inherited by children. Fails with one line.
  static Result<Listener> open(const std::string& host, int port);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  // Waits for a connection: a socket that does not block, the caller's. -1 when there is none to be
  // had (errno), as after close().
  int accept() const;
  // Ends every accept(), now and later. From any thread.
  void close() const;

  // "http://127.0.0.1:8420/"
  const std::string& url() const { return url_; }
  // Only this machine can reach it.
  bool is_loopback() const { return is_loopback_; }

 private:
  Listener(int socket, std::string url, bool is_loopback);

  int socket_;  // -1: moved from
  std::string url_;
  bool is_loopback_;
};

// Whether a Host header names this machine by a name that nobody else can give out: localhost,
// 127.0.0.0/8, [::1]; with or without a port.
bool names_loopback(std::string_view host);

}  // namespace motley
