// ASHL (Shen et al., IEEE TC 2024): for workers that differ in compute and network speed. First
// every worker is measured, then training has two stages.
//
//   profile   some iterations, each with an uncompressed commit, to measure iteration, push and
//   pull AHL       coarse: H_i iterations between commits, so that all rounds take equally long;
//             no worker waits
//   SHL       fine: fewer iterations between commits, once the global loss has fallen to
//             loss_preset; no worker gets more than `staleness` commits ahead of the slowest
//
//   worker i:  w <- w - lr * gradient;  every H_i iterations:  push TopK(w - W, R_i);  w = W
//   server:    W += eta_i * what was pushed,  eta_i in proportion to D_i = H_i / sum of H
//
// plan.h computes H_i, D_i and R_i; stage.h decides the stage. Both run on the coordinator, which
// also deals out the samples. A worker whose rounds no longer take the planned time (drift.h)
// reports it, and all workers get a new plan.
//
// Cost: for every H_i iterations, a push of the fraction R_i of the parameters and a pull of all of
// them.
#pragma once

#include <memory>

#include "motley/sync/ashl.h"
#include "motley/sync/method.h"

namespace motley {

extern const Method kAshl;

// Its parts: a worker (ashl_worker.cc) and the coordinator (ashl_service.cc).
std::unique_ptr<Strategy> make_ashl(const StrategyContext& context);
ServiceResult serve_ashl(const ServiceContext& context);
MethodState fit_ashl(const MethodState& before, const Refit& refit);

}  // namespace motley
