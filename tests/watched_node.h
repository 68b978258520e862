// A Node that tells a watch when its worker begins an iteration. The simulator has one thread, so
// the watch sees everything in the order in which it happens.
#pragma once

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "motley/cluster/graph.h"
#include "motley/sync/sample_client.h"
#include "node/forwarding_node.h"

namespace motley {

// The iterations of all workers, and the largest gaps between two of them before any worker left.
class IterationWatch {
 public:
  explicit IterationWatch(int workers)
      : iteration(static_cast<std::size_t>(workers), 0),
        left(iteration.size(), false),
        gap(iteration.size(), std::vector<std::int64_t>(iteration.size(), 0)) {}

  struct Event {
    Seconds at;
    Rank rank;
    std::int64_t iteration;
  };

  void begins(Rank rank, std::int64_t k, Seconds at) {
    const auto i = static_cast<std::size_t>(rank);
    events.push_back({at, rank, k});
    if (on_begin) {
      on_begin(rank, k);
    }
    iteration[i] = k;
    for (std::size_t j = 0; j < iteration.size() && std::ranges::count(left, true) == 0; ++j) {
      gap[i][j] = std::max(gap[i][j], k - iteration[j]);
    }
  }
  void leaves(Rank rank, Seconds at) {
    left[static_cast<std::size_t>(rank)] = true;
    first_leave = std::min(first_leave, at);
  }

  std::vector<std::int64_t> iteration;         // by worker
  std::vector<bool> left;                      // by worker
  std::vector<std::vector<std::int64_t>> gap;  // how far i was ahead of j
  std::vector<Event> events;                   // all iterations begun, in order
  Seconds first_leave = Node::kForever;
  std::function<void(Rank, std::int64_t)> on_begin;  // called before it is counted
};

class WatchedNode final : public ForwardingNode {
 public:
  WatchedNode(Node& node, IterationWatch& watch) : ForwardingNode(node), watch_(watch) {}

  void send(Rank to, Channel channel, Header header, Payload payload) override {
    if (channel == Channel::kSamples) {
      if (const auto request = payload.record<SampleRequest>(); request && header.tag == 0) {
        watch_.begins(rank(), request->iteration, now());
      } else {
        watch_.leaves(rank(), now());
      }
    }
    ForwardingNode::send(to, channel, header, std::move(payload));
  }

 private:
  IterationWatch& watch_;
};

}  // namespace motley
