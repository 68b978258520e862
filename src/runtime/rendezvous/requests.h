// RunRequests: what people ask of a run that goes on (`motley status`, `motley drain`), and what it
// answers. Pure. Whoever asks has shown the token before (runtime/rendezvous/rendezvous.h).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/rendezvous/run_status.h"

namespace motley {

struct RunRequest {
  std::string name;                         // "status" | "drain"
  std::optional<std::int64_t> worker = {};  // drain
};

class RunRequests {
 public:
  void set_status(RunStatus status) { status_ = std::move(status); }
  // The workers that were asked to leave since the last call, in their order, each once.
  std::vector<int> take_drain_requests();

  // {"status": ...}, null before the run has begun; {"draining": 3}; or {"refused": "a sentence"}.
  nlohmann::ordered_json answer(const RunRequest& request);

 private:
  std::optional<RunStatus> status_;
  std::vector<int> drained_;
};

}  // namespace motley
