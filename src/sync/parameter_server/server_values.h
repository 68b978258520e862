// The values of servers, if a term was cut off: until the next one begins, only the servers have
// them.
#pragma once

#include <vector>

#include "sync/refit.h"

namespace motley {

// In the state of a server (ServerContext::kept).
inline constexpr const char* kServerGate = "gate";
inline constexpr const char* kServerValues = "values";
inline constexpr const char* kServerVersion = "version";  // of the values
// In the state of a worker, if its term was cut off: its copy of the servers' values, and its
// HeldVersions.
inline constexpr const char* kHeldCopy = "base";
inline constexpr const char* kHeldVersions = "held";

// The same values on so many servers as the job has, beside what `now` says of each. Of a server
// that was lost with its state, each number is that of the newest copy that a worker holds. Throws
// StateError if states are damaged.
void fit_server_values(const MethodState& before, const Refit& refit, std::vector<State>& now);

}  // namespace motley
