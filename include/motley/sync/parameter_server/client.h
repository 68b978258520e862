// ServerClient: a worker's side of parameter servers (server.h). The parameters are cut into
// one part per server. A commit pushes to all servers and then takes their answers.
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
  // The first `coded` numbers are sent in the job's codec, the `plain` ones behind them as floats.
  // The codec draws random numbers from `seed`.
  ServerClient(Node& node, const Job& job, std::uint64_t seed, std::size_t coded,
               std::size_t plain);
  ~ServerClient();
  ServerClient(const ServerClient&) = delete;
  ServerClient& operator=(const ServerClient&) = delete;

  // On the first worker: sends the servers their first values, zeros if there is no block. On other
  // workers: does nothing.
  void begin(std::optional<Block> first);

  struct Reply {
    std::int64_t staleness = 0;  // commits of others since this worker's last answer
    Seconds held = 0;     // time spent waiting for slower workers; the longest of all servers
    Seconds push = 0;     // only if measured: until all servers had received the commit
    Seconds seconds = 0;  // the whole commit, including the time it was held
    std::vector<Payload> notes;  // from the servers' gates (commit_gate.h), if any
  };
  // Pushes `change` and fills `result`, which may be the same block, with the servers' new values.
  Reply commit(Block change, const CommitHeader& header, Block result);
  // Blocks until all workers have left; fills `result` with the servers' final values.
  void leave(Block result);

  // What the codec has held back.
  void state(Archive& archive);

  // Sets the ratio of the codec topk from the next commit on.
  void set_ratio(double ratio);

 private:
  struct Part;  // the part of the parameters that one server holds

  // Encodes the numbers of a part of the block: the coded ones of the part, and the plain ones at
  // the end of the block.
  Payload encode(Part& part, Block block);
  void take_answers(Block result, Reply& reply);
  void take_answer(const Part& part, Block result, Reply& reply);

  Node& node_;
  const std::size_t coded_;
  std::vector<Part> parts_;  // one per server
};

}  // namespace motley
