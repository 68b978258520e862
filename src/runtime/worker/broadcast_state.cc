#include "runtime/worker/broadcast_state.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/run/state_stream.h"

namespace motley {
namespace {

void send_common_state(Node& node, Replica& replica) {
  auto state = std::make_shared<State>();
  const auto save = [&] {
    Archive archive = Archive::saving(*state);
    replica.common_state(archive);
  };
  node.busy(0, std::ref(save));
  OutgoingState out(std::move(state));
  while (auto next = out.next()) {
    const auto chunk = std::make_shared<const std::vector<std::byte>>(std::move(*next));
    node.send(1, Channel::kBroadcast, {}, Payload::adopt(chunk, *chunk));
  }
}

State receive_common_state(Node& node) {
  const bool is_last = node.rank() + 1 == node.size();
  IncomingState in;
  while (!in.complete()) {
    const Message chunk = node.receive({Channel::kBroadcast, node.rank() - 1});
    if (!is_last) {
      node.send(node.rank() + 1, Channel::kBroadcast, {}, chunk.payload);
    }
    if (!in.add(chunk.payload.bytes())) {
      throw Interrupted(node.rank() - 1, "the state of rank 0 arrived damaged");
    }
  }
  return in.take();
}

}  // namespace

void broadcast_state(Node& node, Replica& replica) {
  if (node.size() == 1) {
    return;
  }
  if (node.rank() == 0) {
    send_common_state(node, replica);
    return;
  }
  const State state = receive_common_state(node);
  const auto restore = [&] {
    Archive archive = Archive::restoring(state);
    replica.common_state(archive);
  };
  node.busy(0, std::ref(restore));
}

}  // namespace motley
