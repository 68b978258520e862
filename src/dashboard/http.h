// Http: what is answered to whom. One object for all connections; serve() is called from any number
// of threads.
#pragma once

#include <memory>
#include <string>

#include "dashboard/board.h"
#include "dashboard/connection.h"
#include "dashboard/dashboard.h"

namespace motley {

class Http {
 public:
  // `loopback_only`: whoever calls this machine by a name of his own is refused.
  Http(std::string page, const Board& board, const DashboardLimits& limits, bool loopback_only);
  ~Http();

  // Reads one request and answers it. Returns when the answer is given; of a stream, when it ends.
  void serve(Connection& connection);

 private:
  class Server;

  std::unique_ptr<Server> server_;
};

}  // namespace motley
