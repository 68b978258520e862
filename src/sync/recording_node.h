// RecordingNode: a worker's Node that records in its journal whom it waits for and what it
// receives.
//
// For each peer and step the journal gets only the message that was waited for longest: a ring
// passes on hundreds of segments, and one arrow is enough. Messages of the coordinator are not
// recorded.
//
// Cost: two readings of the clock per message.
#pragma once

#include <cstdint>
#include <vector>

#include "motley/record/journal.h"
#include "node/forwarding_node.h"

namespace motley {

class RecordingNode final : public ForwardingNode {
 public:
  RecordingNode(Node& node, Journal& journal) : ForwardingNode(node), journal_(journal) {}

  std::optional<Message> receive_until(Match match, Seconds deadline) override;

  // Call when a step is over.
  void write_down();

  std::int64_t received() const { return received_; }  // messages so far

 private:
  static constexpr std::size_t kMostPeers = 64;  // per step; more are left out

  void note(const Message& message, Seconds asked);

  Journal& journal_;
  std::int64_t received_ = 0;
  std::vector<Exchange> heard_;  // in this step, one per peer
};

}  // namespace motley
