// Partial reduce (Miao et al., SIGMOD 2021): nobody waits for the slowest.
//
// A worker takes a step of its own optimizer, tells the controller that it is ready, and averages
// its model with the few others that are ready too, while other groups do the same. The controller
// (controller.h), on the coordinator, makes the groups and sees to it that no part of the cluster
// drifts off alone; it also deals out the samples, since there is no common step to divide.
//
//   worker, iteration k:   x <- x - lr * gradient;  ready(k);  x <- sum over the group of w_j x_j
//
// At the end of the run all workers average once, so that it leaves one model.
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

}  // namespace motley
