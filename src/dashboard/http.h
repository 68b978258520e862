// Http: answers requests. One object serves all connections. Thread rule: serve() may be called
// from any number of threads.
#pragma once

#include <memory>
#include <string>

#include "dashboard/board.h"
#include "dashboard/connection.h"
#include "dashboard/dashboard.h"

namespace motley {

class Http {
 public:
  // `loopback_only`: refuse requests whose Host header is not a loopback name.
  Http(std::string page, const Board& board, const DashboardLimits& limits, bool loopback_only);
  ~Http();

  // Reads one request and answers it. Returns when the answer is sent; for a stream, when it ends.
  void serve(Connection& connection);

 private:
  class Server;

  std::unique_ptr<Server> server_;
};

}  // namespace motley
