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

  void run(std::vector<Body> bodies) override {
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

  void kill(Rank rank) override {
    at(rank).killed = true;
    at(rank).node.stop("killed by the test");
  }

 private:
  RealRank& at(Rank rank) { return *ranks_[static_cast<std::size_t>(rank)]; }

  void run_rank(Rank rank, const Body& body, std::barrier<>& all_returned) {
    RealRank& self = at(rank);
    try {
      self.node.run(body);
    } catch (const std::exception& exception) {
      if (!self.killed) {
        keep_first(std::current_exception());
        stop(exception.what());
      }
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

  void keep_first(std::exception_ptr error) {
    std::lock_guard lock(mutex_);
    if (!first_error_) {
      first_error_ = error;
    }
  }

  const Over over_;
  std::vector<std::unique_ptr<RealRank>> ranks_;
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
