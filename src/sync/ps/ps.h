// The plain parameter-server methods. Every worker commits after each of its iterations. The
// methods differ in which workers wait:
//
//   ps_bsp   All workers wait for all others in every step. The servers return the sum of all
//            gradients (server_sum.h), and each worker takes the same step, as in an all-reduce.
//   ps_asp   No worker waits: a commit is applied when it arrives (asynchronous parallel).
//   ps_ssp   A worker more than `staleness` commits ahead waits for the slowest (Ho et al., NIPS
//            2013).
//
// In ps_asp and ps_ssp a worker takes steps with its own optimizer, and the servers add 1/n of the
// change.
//
// Cost of an iteration: one push in the job's codec, one pull of 4 bytes per parameter.
#pragma once

#include "motley/sync/method.h"

namespace motley {

extern const Method kPsBsp;
extern const Method kPsAsp;
extern const Method kPsSsp;

}  // namespace motley
