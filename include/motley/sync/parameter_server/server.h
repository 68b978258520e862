// A parameter server: holds a part of the parameters, adds what workers commit to it, and answers
// each commit with the parameters as they are then.
//
//   for each commit of worker i, once the bound lets it:  W += weight_i * change_i;  W -> i
//
// All methods with servers share this one; they differ in the gate that decides when a commit is
// applied (commit_gate.h). Commits that are applied at once are all applied before the first is
// answered: where all workers go in step, everybody gets the same.
//
// What the gate decides goes into the journal: that a worker's commits begin to wait, or no longer
// do, with the reason. What alternates is written ever more rarely (gate_journal.h).
//
// Cost of a commit: it crosses the wire as its codec says, is added in place in one pass, and the
// answer is 4 bytes a number.
#pragma once

#include <memory>

#include "motley/sync/parameter_server/commit_gate.h"
#include "motley/sync/service.h"

namespace motley {

// What a method wants of its servers.
struct ServerRules {
  std::unique_ptr<CommitGate> gate;
  bool sums = false;  // what was answered begins at zero again
};

// Returns when all workers have left, with the gate's figures.
Figures run_parameter_server(const ServerContext& context, ServerRules rules);

}  // namespace motley
