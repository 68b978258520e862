// Service: a method's part that runs on the coordinator: a controller, a server. Methods whose
// workers manage among themselves have none.
//
// Like a worker's side it is blocking code over a Node, whose rank is kCoordinator.
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

}  // namespace motley
