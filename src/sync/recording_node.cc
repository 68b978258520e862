#include "sync/recording_node.h"

#include <algorithm>

namespace motley {

std::optional<Message> RecordingNode::receive_until(Match match, Seconds deadline) {
  const Seconds asked = now();
  if (deadline > asked) {
    journal_.turn_to({Doing::kWait, match.from});
  }
  auto message = ForwardingNode::receive_until(match, deadline);
  journal_.turn_to({Doing::kCommunicate});
  received_ += message ? 1 : 0;
  if (message && message->from != kCoordinator && message->payload.size() > 0) {
    note(*message, asked);
  }
  return message;
}

// Activities of one worker may tell each other something; that is no exchange.
void RecordingNode::note(const Message& message, Seconds asked) {
  if (message.from == rank()) {
    return;
  }
  const Seconds received = now();
  const Exchange heard{message.sent, received, message.from,
                       static_cast<std::int64_t>(message.payload.size()), received - asked};
  const auto known = std::ranges::find(heard_, message.from, &Exchange::from);
  if (known == heard_.end() && heard_.size() < kMostPeers) {
    heard_.push_back(heard);
  } else if (known != heard_.end() && heard.waited > known->waited) {
    *known = heard;
  }
}

void RecordingNode::write_down() {
  for (const Exchange& heard : heard_) {
    journal_.add(heard);
  }
  heard_.clear();
}

}  // namespace motley
