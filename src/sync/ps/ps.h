// The plain parameter-server methods. Every worker commits after each of its iterations; what they
// differ in is who waits for whom.
//
//   ps_bsp   everybody for everybody, in every step: the sum of all gradients comes back
//            (server_sum.h), and each worker takes the same step, as in all_reduce
//   ps_asp   nobody: a commit is applied when it comes (asynchronous parallel)
//   ps_ssp   who is more than `staleness` commits ahead, for the slowest (Ho et al., NIPS 2013)
//
// In ps_asp and ps_ssp a worker's step is of its own optimizer, and 1/n of the change is added.
//
// Cost of an iteration: one push in the job's codec, one pull of 4 bytes a parameter.
#pragma once

#include <memory>

#include "motley/sync/method.h"

namespace motley {

extern const Method kPsBsp;
extern const Method kPsAsp;
extern const Method kPsSsp;

// For methods whose workers differ from these in what bounds a commit: a worker that commits after
// each iteration and counts its commits for the bound, and the coordinator's side.
std::unique_ptr<Strategy> make_bounded_committer(const StrategyContext& context);
ServiceResult serve_committers(const ServiceContext& context);

}  // namespace motley
