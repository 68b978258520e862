// A complete worker for methods that differ only in their gate (commit_gate.h), and the
// coordinator's side for every method with Committers.
//
//   const Method kMine = {.schema = {.name = "mine", .summary = "...", .has_servers = true},
//                         .advance = Advance::kAtOwnPace,
//                         .make = make_bounded_committer,
//                         .serve = serve_committers,
//                         .run_server = run_server_of_mine};
//
// where run_server_of_mine calls run_parameter_server() with a gate.
#pragma once

#include <memory>

#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

// A worker that commits after each of its iterations, with weight 1/n, and numbers its commits for
// the gate.
std::unique_ptr<Strategy> make_bounded_committer(const StrategyContext& context);
// The same without numbers, so that no gate bounds its commits.
std::unique_ptr<Strategy> make_unbounded_committer(const StrategyContext& context);

// Deals out the samples. The figures are the number of commits and their staleness.
ServiceResult serve_committers(const ServiceContext& context);

}  // namespace motley
