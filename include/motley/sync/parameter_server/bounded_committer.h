// A whole worker for methods that differ only in what bounds a commit (commit_gate.h), and the
// coordinator's side for every method with Committers.
//
//   const Method kMine = {.schema = {.name = "mine", .summary = "...", .has_servers = true},
//                         .advance = Advance::kAtOwnPace,
//                         .make = make_bounded_committer,
//                         .serve = serve_committers,
//                         .run_server = run_server_of_mine};   // run_parameter_server() with a
//                         gate
#pragma once

#include <memory>

#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

// A worker that commits after each of its iterations, with 1/n of the change, and counts its
// commits for the gate.
std::unique_ptr<Strategy> make_bounded_committer(const StrategyContext& context);
// The same without a count: no gate bounds its commits.
std::unique_ptr<Strategy> make_unbounded_committer(const StrategyContext& context);

// Deals out the samples. The figures say how many commits there were and how stale.
ServiceResult serve_committers(const ServiceContext& context);

}  // namespace motley
