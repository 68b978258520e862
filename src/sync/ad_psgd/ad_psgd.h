// AD-PSGD (Lian et al., ICML 2018): while a worker computes, it averages its model with that of a
// random neighbour; then it applies the gradient, which is of the model as it was before.
//
// Two workers that wait for each other, or a circle of them, would never end. So workers have
// roles: those of even rank are active and choose somebody of odd rank; those of odd rank are
// passive and answer, beside their own computing, whoever asks.
//
//   active                                    passive
//     x                 -> its model ->         y = (y + x) / 2, at once
//     x = that          <- the mean  <-
//     x -= lr * gradient(x before)            y -= lr * gradient(y when it began to compute)
//
// Each exchange leaves the sum of the two models as it was. At the end of the run all workers
// average once, so that it leaves one model. The coordinator deals out the samples
// (sync/sample_server.h).
//
// Cost per iteration of an active worker: its model there and the mean back, while it computes.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kAdPsgd;

}  // namespace motley
