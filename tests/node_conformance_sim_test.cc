#include "node_conformance.h"
#include "sim/cluster.h"

namespace motley {
namespace {

class SimHarness final : public NodeHarness {
 public:
  void run(std::vector<std::vector<Body>> bodies) override {
    ClusterSpec spec;
    spec.workers = static_cast<int>(bodies.size());
    spec.bandwidth.assign(bodies.size(), 1.25e9);
    cluster_ = std::make_unique<SimCluster>(spec);
    for (std::size_t rank = 0; rank < bodies.size(); ++rank) {
      for (Body& term : bodies[rank]) {
        cluster_->next_term(static_cast<Rank>(rank), std::move(term));
      }
    }
    cluster_->run();
  }
  void stop(const std::string& reason) override { cluster_->stop(reason); }
  void end_term(Rank rank, const std::string& reason) override { cluster_->end_term(rank, reason); }
  void kill(Rank rank) override { cluster_->fail(rank, cluster_->now(), "killed by the test"); }

 private:
  std::unique_ptr<SimCluster> cluster_;
};

INSTANTIATE_TEST_SUITE_P(Sim, NodeConformance,
                         testing::Values(NodeKind{"sim",
                                                  [] { return std::make_unique<SimHarness>(); }}));

}  // namespace
}  // namespace motley
