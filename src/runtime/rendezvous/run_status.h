// RunStatus: what a run that goes on tells those who ask (`motley status`). Values only.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// A worker or a server: one that is there, or was.
struct MemberStatus {
  int id = 0;  // lasts for the run
  std::string host = {};
  std::int64_t pid = 0;
  std::string doing = {};            // "computes", "waits for 3"; of one that is there
  std::optional<Seconds> left = {};  // when it left or was lost; nullopt: it is there
  std::string why = {};              // it left
  std::string cannot_leave = {};     // why it cannot be asked to leave; "": it can

  bool operator==(const MemberStatus&) const = default;
};

struct RunStatus {
  std::string name = {};    // of the job
  std::string method = {};  // strategy.sync
  Seconds seconds = 0;      // of training
  std::int64_t samples = 0;
  std::int64_t limit = 0;  // samples after which the run ends; 0: not known
  int term = 0;
  std::vector<MemberStatus> members = {};  // workers
  std::vector<MemberStatus> servers = {};

  bool operator==(const RunStatus&) const = default;
};

// {"name": "fashion", "method": "...", "seconds": 12.5, "samples": 6400, "limit": 25600, "term": 1,
//  "members": [{"worker": 0, "host": "a", "pid": 77, "doing": "computes", "left": null}],
//  "servers": []}
// A member that left has `left`, in seconds of the run, and `why` instead of `doing`; one that
// cannot leave has `cannot_leave`. A server's id is its `server`.
nlohmann::ordered_json to_json(const RunStatus& status);

// nullopt if it is not such an object. Keys that are not known are ignored.
std::optional<RunStatus> status_in(const nlohmann::ordered_json& json);

// Why this worker cannot be asked to leave, as a sentence; nullopt if it can. Without a status the
// run has not begun.
std::optional<std::string> drain_objection(const std::optional<RunStatus>& status,
                                           std::int64_t worker);

}  // namespace motley
