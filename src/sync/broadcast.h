// Gives all workers the model of rank 0, at the begin and the end of a run whose processes make
// their models themselves. Models that a job's seed determines are already equal and do not need
// this.
#pragma once

#include "motley/node/node.h"
#include "motley/sync/replica.h"

namespace motley {

// Parameters and buffers of every worker become those of rank 0, to the bit. All workers must call
// it. Cost: one all-reduce of each.
void broadcast_model(Node& node, Replica& replica);

}  // namespace motley
