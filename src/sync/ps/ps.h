// The plain parameter-server methods. Every worker commits after each of its iterations; what they
// differ in is who waits for whom.
//
//   ps_bsp   everybody for everybody, in every step: the sum of all gradients comes back
//            (server_sum.h), and each worker takes the same step, as with a sum among the workers
//   ps_asp   nobody: a commit is applied when it comes (asynchronous parallel)
//   ps_ssp   who is more than `staleness` commits ahead, for the slowest (Ho et al., NIPS 2013)
//
// In ps_asp and ps_ssp a worker's step is of its own optimizer, and 1/n of the change is added.
//
// Cost of an iteration: one push in the job's codec, one pull of 4 bytes a parameter.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kPsBsp;
extern const Method kPsAsp;
extern const Method kPsSsp;

}  // namespace motley
