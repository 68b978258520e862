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

#include "motley/sync/service.h"
#include "motley/sync/strategy.h"

namespace motley {

std::unique_ptr<Strategy> make_ps_bsp(const StrategyContext& context);
std::unique_ptr<Strategy> make_ps_asp(const StrategyContext& context);
std::unique_ptr<Strategy> make_ps_ssp(const StrategyContext& context);
// Of ps_asp and ps_ssp; ps_bsp has none.
ServiceResult serve_ps(const ServiceContext& context);
Figures run_server_of_ps_bsp(const ServerContext& context);
Figures run_server_of_ps_asp(const ServerContext& context);
Figures run_server_of_ps_ssp(const ServerContext& context);

}  // namespace motley
