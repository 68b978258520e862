// A parameter server: holds a part of the parameters, adds the workers' commits to it, and answers
// each commit with the new parameters.
//
//   for each commit of worker i, once the gate allows it:  W += weight_i * change_i;  W -> i
//
// All methods with servers share this one; they differ in the gate that decides when a commit is
// applied (commit_gate.h). Commits that are released together are all applied before the first
// one is answered. So all workers get the same parameters if they advance in step.
//
// The journal records when a worker's commits begin or cease to wait, with the reason. Repeated
// changes are recorded less and less often (gate_journal.h).
//
// Cost of a commit: the push has the size of its codec and is added in one pass; the answer has 4
// bytes per number.
#pragma once

#include <memory>

#include "motley/sync/parameter_server/commit_gate.h"
#include "motley/sync/service.h"

namespace motley {

// The settings of a method's servers.
struct ServerRules {
  std::unique_ptr<CommitGate> gate;
  bool sums = false;  // reset the values to zero after each answer
};

// Returns when all workers have left, with the gate's figures.
Figures run_parameter_server(const ServerContext& context, ServerRules rules);

}  // namespace motley
