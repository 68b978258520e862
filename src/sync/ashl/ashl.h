// ASHL (Shen et al., IEEE TC 2024): workers that differ in compute and in network. First every
// worker is measured, then training goes in two stages.
//
//   profile   some iterations, each with a whole commit: what an iteration, a push and a pull take
//   AHL       coarse: H_i iterations between commits, such that all rounds take equally long;
//             nobody waits for anybody
//   SHL       fine: fewer iterations between commits, from when the global loss has come down to
//             loss_preset; nobody gets more than `staleness` commits ahead of the slowest
//
//   worker i:  w <- w - lr * gradient;  every H_i iterations:  push TopK(w - W, R_i);  w = W
//   server:    W += eta_i * what was pushed,  eta_i in proportion to D_i = H_i / sum of H
//
// H_i, D_i and R_i are plan.h's, the stage is stage.h's; both are kept by the coordinator, which
// deals out the samples too. A worker whose rounds no longer take what was planned (drift.h) says
// so, and all get a new plan.
//
// Cost: a push of R_i of the parameters and a pull of all of them for H_i iterations.
#pragma once

#include <memory>

#include "motley/sync/ashl.h"
#include "motley/sync/method.h"

namespace motley {

extern const Method kAshl;

// Its parts: a worker (ashl_worker.cc) and the coordinator (ashl_service.cc).
std::unique_ptr<Strategy> make_ashl(const StrategyContext& context);
ServiceResult serve_ashl(const ServiceContext& context);

}  // namespace motley
