// ServerClient: a worker's side of parameter servers (server.h). The parameters are cut into as
// many parts as there are servers; a commit pushes to all of them and then takes their answers.
#pragma once

#include <optional>
#include <vector>

#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/sync/parameter_server/messages.h"
#include "motley/sync/replica.h"

namespace motley {

class ServerClient {
 public:
  // `coded` numbers travel in the job's codec; the `plain` ones behind them as they are.
  ServerClient(Node& node, const Job& job, std::size_t coded, std::size_t plain);
  ~ServerClient();
  ServerClient(const ServerClient&) = delete;
  ServerClient& operator=(const ServerClient&) = delete;

  // Tells the servers what to hold, on the first worker; elsewhere nothing. No block: zeros.
  void begin(std::optional<Block> first);

  struct Reply {
    std::int64_t staleness = 0;  // commits of others since this worker's last answer
    Seconds held = 0;            // by the server that held it longest
    Seconds push = 0;            // of a measured commit: until all servers had it
    Seconds seconds = 0;         // from the first byte to the last, with what it was held
    std::vector<Payload> notes;  // of the servers' gates (commit_gate.h), of those that had one
  };
  // Pushes `change` and fills `result`, which may be the same block, with what the servers hold
  // then.
  Reply commit(Block change, const CommitHeader& header, Block result);
  // Blocks until all workers have left; `result` is what the servers hold in the end.
  void leave(Block result);

  // Of topk, from the next commit on.
  void set_ratio(double ratio);

 private:
  struct Part;  // of one server

  // Numbers of a part in a block: coded ones from its place, plain ones from the end of it.
  Payload encode(Part& part, Block block);
  void take_answer(const Part& part, Block result, Reply& reply);

  Node& node_;
  const std::size_t coded_;
  std::vector<Part> parts_;  // one per server
};

}  // namespace motley
