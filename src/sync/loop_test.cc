#include "sync/loop.h"

#include <gtest/gtest.h>

#include "motley/sync/method.h"
#include "node/forwarding_node.h"
#include "sim/cluster.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

// Like a real clock, it never shows the same time twice.
class RestlessClock final : public ForwardingNode {
 public:
  using ForwardingNode::ForwardingNode;
  Seconds now() const override {
    return ForwardingNode::now() + 1e-9 * static_cast<double>(++asked_);
  }

 private:
  mutable int asked_ = 0;
};

class LastStep final : public Observer {
 public:
  void on_step(Seconds seconds, const Progress&, const WorkerResult&) override { at = seconds; }
  void on_snapshot(Seconds, const Progress&, Replica&) override {}
  Seconds at = 0;
};

struct Ends {
  Seconds of_steps = 0;
  Seconds of_run = 0;
};

// Of worker 0.
Ends ends_of(const std::string& sync) {
  Job job = simulated_job(sync, equal_speeds(2), 2, 3);
  job.model.kind = ModelKind::kPhantom;
  PhantomTask task(100, 100'000);
  SimCluster cluster(job.cluster, servers_of(job), 1);
  Ends ends;
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    cluster.start(rank, [&, rank](Node& node) {
      RestlessClock restless(node);
      const auto replica = task.make_replica();
      LastStep last;
      const auto result = train(restless, {job, 100, *replica, last, [] { return false; }});
      if (rank == 0) {
        ends = {last.at, result.times.seconds};
      }
    });
  }
  for (int server = 0; server < servers_of(job); ++server) {
    cluster.start(job.cluster.workers + server,
                  [&](Node& node) { run_server(node, job, nullptr, nullptr); });
  }
  cluster.start(kCoordinator, [&](Node& node) {
    serve(
        node, job, 100, [] { return false; }, nullptr, {}, {}, nullptr);
  });
  cluster.run();
  return ends;
}

// The servers' last answer, which nobody needs, is on its way after the last step.
TEST(Loop, ARunEndsWithItsLastStepIfNothingIsExchangedAfterIt) {
  const Ends ends = ends_of("ps_bsp");
  EXPECT_GT(ends.of_steps, 0);
  EXPECT_EQ(ends.of_run, ends.of_steps);
}

TEST(Loop, ARunEndsWithTheFinalAverageIfThereIsOne) {
  const Ends ends = ends_of("hop");
  EXPECT_GT(ends.of_run, ends.of_steps + 1e-4);  // 0.4 MB at 1.25e9 bytes per second
}

}  // namespace
}  // namespace motley
