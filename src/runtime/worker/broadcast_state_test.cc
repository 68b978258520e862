#include "runtime/worker/broadcast_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/run/state_stream.h"
#include "sim/cluster.h"

namespace motley::broadcast_state_test {
namespace {

// Remembers something besides its parameters, and something that is its own.
class RememberingReplica final : public Replica {
 public:
  RememberingReplica(std::size_t size, double value, std::string name = "momenta")
      : steps(value),
        own(value),
        momenta(size, static_cast<float>(value)),
        name_(std::move(name)) {}
  Block parameters() override { return {}; }
  Block gradient() override { return {}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}
  void state(Archive& archive) override {
    common_state(archive);
    archive("own", own);
  }
  void common_state(Archive& archive) override {
    archive("steps", steps);
    archive.tensor(name_, momenta);
  }

  double steps;
  double own;
  std::vector<float> momenta;

 private:
  const std::string name_;
};

using Replicas = std::vector<std::unique_ptr<RememberingReplica>>;

Replicas broadcast(int workers, std::size_t size) {
  ClusterSpec spec;
  spec.workers = workers;
  SimCluster cluster(spec);
  Replicas replicas;
  for (Rank rank = 0; rank < workers; ++rank) {
    replicas.push_back(std::make_unique<RememberingReplica>(size, rank + 5));
    cluster.start(rank, [rank, &replicas](Node& node) {
      broadcast_state(node, *replicas[static_cast<std::size_t>(rank)]);
    });
  }
  cluster.run();
  return replicas;
}

// Also in more than one chunk, and with more floats than one rank has at first.
TEST(BroadcastState, AllHaveWhatRankZeroHasButKeepTheirOwn) {
  for (const int workers : {1, 2, 3, 8}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{7}, kStateChunk}) {
      const Replicas replicas = broadcast(workers, size);
      for (int rank = 0; rank < workers; ++rank) {
        const RememberingReplica& replica = *replicas[static_cast<std::size_t>(rank)];
        EXPECT_EQ(replica.steps, 5);
        EXPECT_EQ(replica.momenta, std::vector<float>(size, 5));
        EXPECT_EQ(replica.own, rank + 5);
      }
    }
  }
}

TEST(BroadcastState, AStateThatDoesNotFitIsAnError) {
  ClusterSpec spec;
  spec.workers = 2;
  SimCluster cluster(spec);
  RememberingReplica first(3, 1);
  RememberingReplica second(3, 2, "velocities");
  cluster.start(0, [&](Node& node) { broadcast_state(node, first); });
  cluster.start(1, [&](Node& node) { broadcast_state(node, second); });
  EXPECT_THROW(cluster.run(), StateError);
}

}  // namespace
}  // namespace motley::broadcast_state_test
