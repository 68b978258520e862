// Gives all workers what rank 0's replica has besides its model (Replica::common_state()).
#pragma once

#include "motley/node/node.h"
#include "motley/sync/replica.h"

namespace motley {

// All workers must call it. Each passes rank 0's state on to the next one, chunk by chunk. Throws
// StateError if it does not fit this worker's replica. Cost: the time to send it once; next to
// nothing if there is none.
void broadcast_state(Node& node, Replica& replica);

}  // namespace motley
