// RecordingNode: a worker's Node that writes into its journal whom it waits for, and what came from
// whom.
//
// Of all that comes from one peer in a step the journal gets what was waited for longest: a ring
// passes on hundreds of segments, and one arrow says it. What the coordinator sends is no exchange.
//
// Cost: two looks at the clock per message.
#pragma once

#include <vector>

#include "motley/record/journal.h"
#include "node/forwarding_node.h"

namespace motley {

class RecordingNode final : public ForwardingNode {
 public:
  RecordingNode(Node& node, Journal& journal) : ForwardingNode(node), journal_(journal) {}

  std::optional<Message> receive_until(Match match, Seconds deadline) override;

  // A step is over.
  void write_down();

 private:
  static constexpr std::size_t kMostPeers = 64;  // in a step; more are left out

  void note(const Message& message, Seconds asked);

  Journal& journal_;
  std::vector<Exchange> heard_;  // in this step, one of each peer
};

}  // namespace motley
