#include <algorithm>
#include <atomic>
#include <barrier>
#include <exception>
#include <thread>

#include "fabric/tcp.h"
#include "node_conformance.h"
#include "runtime/worker/real_node.h"

namespace motley {
namespace {

// One rank with its own sockets and threads, as if it were a process.
struct RealRank {
  RealRank(Rank rank, int size)
      : node(driver, rank, size),
        fabric(std::make_unique<TcpFabric>(driver, node,
                                           TcpOptions{.self = rank, .token = "conformance"})) {
    node.attach(*fabric);
  }

  Driver driver;
  RealNode node;
  std::unique_ptr<TcpFabric> fabric;
  std::atomic<bool> killed = false;
};

class RealHarness final : public NodeHarness {
 public:
  enum class Over { kTcp, kLocal };
  explicit RealHarness(Over over) : over_(over) {}

  void run(std::vector<std::vector<Body>> bodies) override {
    const int size = static_cast<int>(bodies.size());
    for (Rank rank = 0; rank < size; ++rank) {
      ranks_.push_back(std::make_unique<RealRank>(rank, size));
    }
    for (auto& one : ranks_) {
      for (Rank peer = 0; peer < size; ++peer) {
        Endpoint endpoint = at(peer).fabric->endpoint();
        if (over_ == Over::kTcp) {
          endpoint.local.clear();
        }
        one->fabric->set_peer(peer, endpoint);
      }
    }
    make_beginnings(bodies);
    std::barrier all_returned(size);
    std::vector<std::thread> threads;
    for (Rank rank = 0; rank < size; ++rank) {
      threads.emplace_back(
          [&, rank] { run_rank(rank, bodies[static_cast<std::size_t>(rank)], all_returned); });
    }
    for (auto& thread : threads) {
      thread.join();
    }
    if (first_error_) {
      std::rethrow_exception(first_error_);
    }
  }

  void stop(const std::string& reason) override {
    for (auto& one : ranks_) {
      one->node.stop(reason);
    }
  }

  void end_term(Rank rank, const std::string& reason) override { at(rank).node.end_term(reason); }

  void kill(Rank rank) override {
    at(rank).killed = true;
    at(rank).node.stop("killed by the test");
  }

 private:
  RealRank& at(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  // Where those ranks meet that have a term of the same number: who has begun it is ready for
  // messages of the others. In a run the coordinator sees to that.
  void make_beginnings(const std::vector<std::vector<Body>>& bodies) {
    for (std::size_t term = 0;; ++term) {
      const auto ranks = std::ranges::count_if(
          bodies, [&](const std::vector<Body>& terms) { return terms.size() > term; });
      if (ranks == 0) {
        return;
      }
      beginnings_.push_back(std::make_unique<std::barrier<>>(ranks));
    }
  }

  void run_rank(Rank rank, const std::vector<Body>& terms, std::barrier<>& all_returned) {
    RealRank& self = at(rank);
    bool goes_on = true;
    for (std::size_t term = 0; term < terms.size(); ++term) {
      if (!goes_on) {
        beginnings_[term]->arrive_and_drop();
        continue;
      }
      if (term > 0) {
        self.node.begin_term();
      }
      beginnings_[term]->arrive_and_wait();
      goes_on = run_term(self, terms[term]);
    }
    if (self.killed) {
      self.fabric.reset();  // no goodbye: the connections just break
      // Ranks that were never connected to it learn of the loss from the coordinator.
      for (auto& one : ranks_) {
        one->node.on_peer_lost(rank, "killed by the test");
      }
    }
    all_returned.arrive_and_wait();  // no rank leaves while others still expect messages
    if (self.fabric) {
      self.fabric->close(5);
    }
  }

  // Whether another term may follow.
  bool run_term(RealRank& self, const Body& body) {
    try {
      self.node.run(body);
    } catch (const std::exception& exception) {
      if (!self.killed) {
        keep_first(std::current_exception());
        stop(exception.what());
      }
      return false;
    }
    return !self.killed;
  }

  void keep_first(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!first_error_) {
      first_error_ = std::move(error);
    }
  }

  const Over over_;
  std::vector<std::unique_ptr<RealRank>> ranks_;
  std::vector<std::unique_ptr<std::barrier<>>> beginnings_;  // one for each term
  std::mutex mutex_;
  std::exception_ptr first_error_;
};

NodeKind kind(const std::string& name, RealHarness::Over over) {
  return {name, [over] { return std::make_unique<RealHarness>(over); }};
}

INSTANTIATE_TEST_SUITE_P(Real, NodeConformance,
                         testing::Values(kind("tcp", RealHarness::Over::kTcp),
                                         kind("local", RealHarness::Over::kLocal)));

}  // namespace
}  // namespace motley
