// How workers whose models were made each by its own process begin, and end: all with the model of
// rank 0. What a job's seed decides is the same everywhere already, and needs none of this.
#pragma once

#include "motley/node/node.h"
#include "motley/sync/replica.h"

namespace motley {

// Parameters and buffers of every worker become those of rank 0, to the bit. All workers call it.
// Cost: one all-reduce of each.
void broadcast_model(Node& node, Replica& replica);

}  // namespace motley
