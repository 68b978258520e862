// AD-PSGD (Lian et al., ICML 2018): while a worker computes, it averages its model with that of a
// random neighbour. Then it applies the gradient, which belongs to the model before averaging.
//
// Workers that wait for each other in a cycle would deadlock. So workers have roles: those of even
// rank are active and choose a partner of odd rank; those of odd rank are passive and answer
// requests while they compute.
//
//   active                                    passive
//     x                 -> its model ->         y = (y + x) / 2, at once
//     x = that          <- the mean  <-
//     x -= lr * gradient(x before)            y -= lr * gradient(y when it began to compute)
//
// Each exchange preserves the sum of the two models. At the end of the run all workers average
// once, so that there is one model. The coordinator deals out the samples
// (motley/sync/sample_server.h).
//
// Cost per iteration of an active worker: one model sent and one received, while it computes.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kAdPsgd;

}  // namespace motley
