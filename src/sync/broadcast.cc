#include "sync/broadcast.h"

#include <algorithm>

#include "motley/sync/collective.h"

namespace motley {

// A sum in which all parts but one are zero.
void broadcast_model(Node& node, Replica& replica) {
  Collective collective(node, Channel::kBroadcast);
  for (const Block block : {replica.parameters(), replica.buffers()}) {
    if (node.rank() != 0) {
      node.busy(0, [&] { std::ranges::fill(block.floats(), 0.0F); });
    }
    collective.sum(block);
  }
}

}  // namespace motley
