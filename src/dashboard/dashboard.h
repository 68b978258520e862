// Dashboard: the live page. A small web server with its own threads that shows a run while it goes
// on. It is read-only.
//
//   auto dashboard = Dashboard::start({.port = 8420}, page);
//   fmt::print("{}\n", (*dashboard)->url());
//   (*dashboard)->publish(record, metrics);   // whenever there is news
//
//   /             the page
//   /events       server-sent events: the current run document, then every newer one (at most
//                 four per second; older ones are skipped). A late client sees the whole run.
//   /record.json  the current run document
//   /metrics      the same run for Prometheus
//
// It answers GET requests only, and never reads more of a request than its head into memory. On a
// loopback address (the default) it answers only to loopback names: a web page that makes its own
// name point here (DNS rebinding) gets 421. Clients cannot delay the run or each other: there is a
// fixed number of low-priority threads, and every wait has a limit.
//
// cpp-httplib parses requests and formats answers (http.cc). Sockets and threads are motley's own,
// because those of cpp-httplib have no limits per request, share ports silently (SO_REUSEPORT) and
// leak sockets into child processes. Cost: idle threads while nobody looks.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/error.h"

namespace motley {

// Limits for clients. Tests make them small.
struct DashboardLimits {
  int streams = 16;                               // of /events at once; further ones get 503
  int others = 8;                                 // other connections at once; further ones wait
  std::size_t head = 16'384;                      // bytes of a request
  std::chrono::milliseconds request_time{2'000};  // for a request to arrive
  std::chrono::milliseconds write_time{5'000};    // for an answer or an event to be accepted,
  double slowest = 65'536;                        // plus a second per this many bytes
  std::chrono::milliseconds pace{250};            // between events
  std::chrono::milliseconds keep_alive{2'000};    // between signs of life in a stream without news
  std::chrono::milliseconds farewell{500};        // for clients to accept the last document
};

class Dashboard {
 public:
  struct Address {
    std::string host = "127.0.0.1";  // a name or an address, IPv4 or IPv6
    int port = 0;                    // 0: any free port
  };

  // Serves `page`, which is HTML. Fails with a one-line message, such as "port 8420 is already in
  // use" or "cannot listen on 10.0.0.1: ...".
  static Result<std::unique_ptr<Dashboard>> start(const Address& address, std::string page,
                                                  const DashboardLimits& limits = {});
  // Sends the last document to all streams, then closes everything: at once when they have accepted
  // it, at the latest after limits.farewell.
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  // "http://127.0.0.1:8420/"
  std::string url() const;

  // Replaces what is shown: a run document (JSON) and Prometheus text. Thread-safe; never waits for
  // a client.
  void publish(std::string record, std::string metrics);

 private:
  class Impl;
  explicit Dashboard(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
