// The side of those who ask a run something over its rendezvous (runtime/rendezvous/requests.h).
#pragma once

#include <string>

#include "fabric/fabric.h"
#include "motley/base/ids.h"
#include "runtime/rendezvous/requests.h"

namespace motley {

struct RunReply {
  enum class Kind { kAnswered, kRefused, kSilent };
  Kind kind = Kind::kSilent;
  // kAnswered: the line of JSON. kRefused: why, a whole sentence of the run. kSilent: why there is
  // no answer.
  std::string text;
};

// Asks once, for at most `deadline` seconds.
RunReply ask_run(const Endpoint& rendezvous, const std::string& token, const RunRequest& request,
                 Seconds deadline);

}  // namespace motley
