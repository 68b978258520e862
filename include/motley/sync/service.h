// The optional parts of a method other than its workers: a service, which runs on the coordinator,
// and servers, which are separate processes that hold the parameters.
//
// Like a worker's side, each is blocking code over a Node. The rank of a service is kCoordinator;
// the ranks of servers follow those of the workers.
#pragma once

#include <functional>
#include <vector>

#include "motley/allocate/ledger.h"
#include "motley/base/figure.h"
#include "motley/job/job.h"
#include "motley/node/node.h"
#include "motley/record/journal.h"
#include "motley/state/kept_state.h"
#include "motley/sync/dealings.h"

namespace motley {

// Everything a service may use. The references outlive it.
struct ServiceContext {
  Node& node;
  const Job& job;
  const LedgerOptions& ledger;
  Journal& journal;  // for decisions, and for how far apart the workers are
  // True once the term should end early (target reached, interrupted, a checkpoint is due). A
  // service that deals out samples must then make all workers leave together.
  std::function<bool()> stop_requested;
  // The machine of each rank, workers before servers, numbered from 0. Empty: each has its own.
  std::vector<int> machines = {};
  KeptState* kept = nullptr;  // from the last term, to the next (motley/sync/term.h); null: nothing
  Dealings* dealings = nullptr;  // where a Dealer writes down what it deals; null: nowhere
};

struct ServiceResult {
  Figures figures;                     // shown in the summary under the method's name
  std::int64_t max_iteration_gap = 0;  // between any two workers
};

// Runs the service. Returns when the term is over for all workers.
using Serve = ServiceResult (*)(const ServiceContext& context);

// Everything a server may use. The references outlive it.
struct ServerContext {
  Node& node;
  const Job& job;
  Journal& journal;           // for decisions; part of the record of the run, like a worker's
  KeptState* kept = nullptr;  // from the last term, to the next (motley/sync/term.h); null: nothing
};

// Runs a server. Returns when all workers have left. The summary shows the figures under the
// method's name, each with one value per server.
using RunServer = Figures (*)(const ServerContext& context);

}  // namespace motley
