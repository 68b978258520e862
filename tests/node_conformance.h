// The conformance suite of Node: one set of tests that every kind of Node must pass.
//
// To add a kind of Node, implement NodeHarness and give it a name:
//
//   INSTANTIATE_TEST_SUITE_P(Sim, NodeConformance,
//                            testing::Values(NodeKind{"sim", [] { return ...; }}));
//
// The cases are in node_conformance.cc, node_conformance_failures.cc and
// node_restart_conformance.cc. They wait only for conditions, never for time to pass, so they are
// fast and work on a virtual and on a real clock.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "motley/node/node.h"

namespace motley {

// A cluster of workers for one test.
class NodeHarness {
 public:
  using Body = std::function<void(Node&)>;

  virtual ~NodeHarness() = default;

  // Runs bodies[r][t] as term t of rank r, on a cluster of bodies.size() workers, until every
  // activity has returned. A rank's next term begins when all activities of the last one have
  // returned, and may wait for other ranks that begin their term of the same number. An exception
  // that leaves an activity stops the run and is thrown here (or one with the same what()); those
  // of a killed rank do not count. Called once.
  virtual void run(std::vector<std::vector<Body>> bodies) = 0;

  // The three below are called by a body while run() is under way, from whatever rank.

  // Stops the run: Node calls throw Interrupted(kAnyRank, reason).
  virtual void stop(const std::string& reason) = 0;
  // Ends the term that a rank is in: its Node calls throw Interrupted(kAnyRank, reason).
  virtual void end_term(Rank rank, const std::string& reason) = 0;
  // Cuts a rank off, as if its machine had lost power: its own Node calls throw, and the others
  // learn of the loss some time later. What had arrived stays.
  virtual void kill(Rank rank) = 0;
};

struct NodeKind {
  std::string name;
  std::function<std::unique_ptr<NodeHarness>()> make_harness;

  friend std::ostream& operator<<(std::ostream& out, const NodeKind& kind) {
    return out << kind.name;
  }
};

class NodeConformance : public testing::TestWithParam<NodeKind> {
 protected:
  using Body = NodeHarness::Body;

  NodeConformance() : harness_(GetParam().make_harness()) {}

  void run(std::vector<Body> bodies) {
    std::vector<std::vector<Body>> one_term;
    for (Body& body : bodies) {
      one_term.push_back({std::move(body)});
    }
    harness_->run(std::move(one_term));
  }
  void run_on_all(int workers, const Body& body) {
    run(std::vector<Body>(static_cast<std::size_t>(workers), body));
  }
  // Runs and returns what() of the exception that was thrown; empty if there was none.
  std::string reason_of_run(std::vector<Body> bodies);

  NodeHarness& harness() { return *harness_; }

 private:
  std::unique_ptr<NodeHarness> harness_;
};

}  // namespace motley
