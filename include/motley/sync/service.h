// A method's parts beside its workers, for methods that have them: a service, which runs on the
// coordinator, and servers, which are processes of their own and hold the parameters.
//
// Like a worker's side each is blocking code over a Node. A service's rank is kCoordinator; the
// ranks of servers follow those of the workers.
#pragma once

#include <functional>

#include "motley/allocate/ledger.h"
#include "motley/base/figure.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"

namespace motley {

// All that a service is given. The references outlive it.
struct ServiceContext {
  Node& node;
  const Job& job;
  const LedgerOptions& ledger;
  Journal& journal;  // for what is decided, and how far apart the workers are
  // True once the run should end early (target reached, interrupted). A service that deals out the
  // samples sees to it that all workers leave together.
  std::function<bool()> stop_requested;
};

struct ServiceResult {
  Figures figures;                     // in the summary under the method's name
  std::int64_t max_iteration_gap = 0;  // between any two workers
};

// Returns when the run is over for all workers.
using Serve = ServiceResult (*)(const ServiceContext& context);

// All that a server is given. The references outlive it.
struct ServerContext {
  Node& node;
  const Job& job;
  Journal& journal;  // for what is decided; it reaches the record of the run as a worker's does
};

// Returns when all workers have left. The figures stand in the summary under the method's name,
// each with one value for every server.
using RunServer = Figures (*)(const ServerContext& context);

}  // namespace motley
