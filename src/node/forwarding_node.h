// ForwardingNode: passes every call to another Node. Derive from it to observe or change calls.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "motley/node/node.h"

namespace motley {

class ForwardingNode : public Node {
 public:
  explicit ForwardingNode(Node& node) : node_(node) {}

  Rank rank() const override { return node_.rank(); }
  int size() const override { return node_.size(); }
  Seconds now() const override { return node_.now(); }
  void send(Rank to, Channel channel, Header header, Payload payload) override {
    node_.send(to, channel, header, std::move(payload));
  }
  std::optional<Message> receive_until(Match match, Seconds deadline) override {
    return node_.receive_until(match, deadline);
  }
  void forget(Rank peer) override { node_.forget(peer); }
  void busy(Seconds cost, const std::function<void()>& body) override { node_.busy(cost, body); }
  void process(std::size_t bytes, const std::function<void()>& body) override {
    node_.process(bytes, body);
  }
  void sleep(Seconds duration) override { node_.sleep(duration); }
  void spawn(std::string name, std::function<void(Node&)> body) override {
    node_.spawn(std::move(name), std::move(body));
  }

 private:
  Node& node_;
};

}  // namespace motley
