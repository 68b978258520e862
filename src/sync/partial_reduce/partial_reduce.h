// Partial reduce (Miao et al., SIGMOD 2021): no worker waits for the slowest one.
//
// A worker takes a step of its own optimizer, tells the controller that it is ready, and averages
// its model with the few others that are ready too, while other groups do the same. The controller
// (controller.h) runs on the coordinator. It forms the groups and keeps all parts of the cluster
// connected. It also deals out the samples, because there is no common step to divide.
//
//   worker, iteration k:   x <- x - lr * gradient;  ready(k);  x <- sum over the group of w_j x_j
//
// At the end of the run all workers average once, so that there is one model.
//
// Cost per step: one signal and one answer of about 100 bytes, and an all-reduce of the model and
// its buffers among `group` workers.
#pragma once

#include <memory>

#include "motley/sync/method.h"
#include "motley/sync/partial_reduce.h"

namespace motley {

extern const Method kPartialReduce;

std::unique_ptr<Strategy> make_partial_reduce(const StrategyContext& context);
ServiceResult serve_partial_reduce(const ServiceContext& context);
MethodState fit_partial_reduce(const MethodState& before, const Refit& refit);

}  // namespace motley
