// A Node that tells a Watch when its worker begins an iteration. The simulator has one thread, so
// the Watch sees everything in the order in which it happens.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/graph.h"
#include "node/node.h"
#include "sync/supply.h"

namespace motley {

// Where all workers are, and the largest gaps that were between two of them before anybody left.
class Watch {
 public:
  explicit Watch(int workers)
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
  std::vector<Event> events;                   // all that began, in order
  Seconds first_leave = Node::kForever;
  std::function<void(Rank, std::int64_t)> on_begin;  // before it counts
};

class WatchedNode final : public Node {
 public:
  WatchedNode(Node& node, Watch& watch) : node_(node), watch_(watch) {}

  Rank rank() const override { return node_.rank(); }
  int size() const override { return node_.size(); }
  Seconds now() const override { return node_.now(); }
  void send(Rank to, Channel channel, Header header, Payload payload) override {
    if (channel == Channel::kSupply) {
      if (const auto request = payload.record<SupplyRequest>(); request && header.tag == 0) {
        watch_.begins(rank(), request->iteration, now());
      } else {
        watch_.leaves(rank(), now());
      }
    }
    node_.send(to, channel, header, std::move(payload));
  }
  std::optional<Message> receive_until(Match match, Seconds deadline) override {
    return node_.receive_until(match, deadline);
  }
  void forget(Rank peer) override { node_.forget(peer); }
  void busy(Seconds cost, const std::function<void()>& body) override { node_.busy(cost, body); }
  void sleep(Seconds duration) override { node_.sleep(duration); }
  void spawn(std::string name, std::function<void(Node&)> body) override {
    node_.spawn(std::move(name), std::move(body));
  }

 private:
  Node& node_;
  Watch& watch_;
};

}  // namespace motley
