// Dashboard: the live page. A small web server, in threads of its own, that shows what a run looks
// like while it goes on, and takes no orders.
//
//   auto dashboard = Dashboard::start({.port = 8420}, page);
//   fmt::print("{}\n", (*dashboard)->url());
//   (*dashboard)->publish(record, metrics);   // whenever there is something new
//
//   /             the page
//   /events       server-sent events: the run document as it is, then every newer one (the last
//                 wins; at most four a second). Whoever comes late sees the whole run.
//   /record.json  the run document now
//   /metrics      the same run for Prometheus
//
// It answers GET and nothing else, and what it is sent beside the head of a request is never read
// into memory. On a loopback address (unless told otherwise) it answers only to loopback's names: a
// web page that has its own name lead here (DNS rebinding) is told 421. Clients cannot hold up the
// run or each other: a fixed number of threads, of low priority; every wait has an end.
//
// cpp-httplib reads requests and writes answers (http.cc); sockets and threads are ours, because
// its own have no bounds on what a request may take, share ports silently (SO_REUSEPORT) and leak
// sockets into children. Costs nothing but idle threads while nobody looks.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

#include "base/error.h"

namespace motley {

// What clients may take. Tests make them small.
struct DashboardLimits {
  int streams = 16;                               // of /events at once; more are told 503
  int others = 8;                                 // connections beside these; more wait
  std::size_t head = 16'384;                      // bytes of a request
  std::chrono::milliseconds request_time{2'000};  // until a request is there whole
  std::chrono::milliseconds write_time{5'000};    // until an answer, or an event, is taken whole
  double slowest = 65'536;                        // and a second more for that many bytes of it
  std::chrono::milliseconds pace{250};            // between events
  std::chrono::milliseconds keep_alive{2'000};    // until a stream without news shows life
  std::chrono::milliseconds farewell{500};        // for the last document to be taken
};

class Dashboard {
 public:
  struct Address {
    std::string host = "127.0.0.1";  // a name or an address, also of IPv6
    int port = 0;                    // 0: any that is free
  };

  // Serves `page`, which is HTML. Fails with one line: "port 8420 is taken", "cannot listen on
  // 10.0.0.1: ...".
  static Result<std::unique_ptr<Dashboard>> start(const Address& address, std::string page,
                                                  const DashboardLimits& limits = {});
  // Streams are given the last document, then all is closed: at once if they take it, within
  // limits.farewell whatever clients do.
  ~Dashboard();
  Dashboard(const Dashboard&) = delete;
  Dashboard& operator=(const Dashboard&) = delete;

  // "http://127.0.0.1:8420/"
  std::string url() const;

  // What there is to see from now on: a run document (JSON) and Prometheus text. From any thread;
  // never waits for a client.
  void publish(std::string record, std::string metrics);

 private:
  class Impl;
  explicit Dashboard(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace motley
