// A parameter server: holds a part of the parameters, adds what workers commit to it, and answers
// each commit with the parameters as they are then.
//
//   for each commit of worker i, once the bound lets it:  W += weight_i * change_i;  W -> i
//
// All methods with servers share this one; they differ in what bounds a commit
// (staleness_bound.h): nothing (ps_asp, adsp, ASHL's coarse stage), or the slowest worker's count
// (ps_bsp, ps_ssp, ASHL's fine stage). Where several commits are let go at once, all are applied
// before the first is answered: with a bound of 0 everybody gets the same.
//
// Cost of a commit: it crosses the wire as its codec says, is added in place in one pass, and the
// answer is 4 bytes a number.
#pragma once

#include <cstdint>
#include <optional>

#include "motley/job/job.h"
#include "motley/node/node.h"

namespace motley {

// What a method wants of its servers.
struct ServerRules {
  std::optional<std::int64_t>
      bound;          // commits that a worker may be ahead of the slowest; none: any
  bool sums = false;  // what was answered begins at zero again
};

// Returns when all workers have left.
void run_parameter_server(Node& node, const Job& job, const ServerRules& rules);

}  // namespace motley
