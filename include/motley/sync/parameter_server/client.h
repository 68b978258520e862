// ServerClient: a worker's side of parameter servers (server.h). The parameters are cut into
// one part per server. A commit pushes to all servers and then takes their answers.
#pragma once

#include <optional>
#include <vector>

#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/sync/parameter_server/held_versions.h"
#include "motley/sync/parameter_server/messages.h"
#include "motley/sync/replica.h"

namespace motley {

struct Refit;  // sync/refit.h

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
  // After a commit that was cut off, of which some servers may have answered: `base` gets the
  // values of those that have; the others get the same change again with the next commit, also what
  // the codec had held back of it. Returns whether there are others: they may have applied it.
  bool take_back(Block result, Block base);
  // The last commit is whole: nothing of it is taken back.
  void forget_commit();
  // Of the values that this worker has been answered, or began with.
  const HeldVersions& held() const { return held_; }
  void set_held(HeldVersions held) { held_ = std::move(held); }
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
  void take_answer(Part& part, Block result, Reply& reply);

  Node& node_;
  const std::size_t coded_;
  std::vector<Part> parts_;  // one per server
  HeldVersions held_;
  bool is_committing_ = false;
};

// The states of all workers' clients, for other workers, servers or another codec. What those who
// are gone held back is divided among those who stay. `scale` multiplies what was held back.
std::vector<State> fitted_clients(const std::vector<State>& before, const Refit& refit,
                                  double scale);

}  // namespace motley
