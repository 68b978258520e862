#include "sync/ashl/ashl.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "motley/sync/ashl.h"
#include "motley/sync/method.h"
#include "motley/sync/parameter_server/messages.h"
#include "node/forwarding_node.h"
#include "tests/figure.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

template <class Row>
Row row(const RunOutcome& outcome, const std::string& name) {
  const auto found = std::ranges::find(outcome.service.figures, name, &Figure::name);
  return std::get<Row>(found->value);
}
using Counts = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

// Records when commits arrive at a server and when they are answered.
class WatchedServer final : public ForwardingNode {
 public:
  WatchedServer(Node& node, std::int64_t bound) : ForwardingNode(node), bound_(bound) {
    for (Rank rank = 0; rank < node.size(); ++rank) {
      steps_[rank] = 0;
    }
  }

  std::optional<Message> receive_until(Match match, Seconds deadline) override {
    auto message = ForwardingNode::receive_until(match, deadline);
    const auto kind = static_cast<ServerKind>(message->header.tag);
    if (kind == ServerKind::kLeave) {
      anybody_left_ = true;
    } else if (kind == ServerKind::kCommit || kind == ServerKind::kMeasuredCommit) {
      on_commit(message->from, CommitHeader::of(message->header));
    }
    return message;
  }

  void send(Rank to, Channel channel, Header header, Payload payload) override {
    const bool is_answer = payload.size() > 0 && waiting_.contains(to);
    if (is_answer) {
      const auto [commit, arrived] = waiting_[to];
      if (!commit.step) {
        EXPECT_EQ(arrived, now()) << "the coarse stage waits";
      } else if (!anybody_left_) {
        const auto slowest =
            std::ranges::min_element(steps_, {}, [](const auto& each) { return each.second; });
        const std::int64_t ahead = *commit.step - slowest->second;
        EXPECT_LE(ahead, bound_);
        at_the_bound += ahead == bound_ && bound_ > 0 ? 1 : 0;
      }
      waiting_.erase(to);
    }
    ForwardingNode::send(to, channel, header, std::move(payload));
  }

  std::int64_t bounded = 0;
  std::int64_t unbounded = 0;
  std::int64_t at_the_bound = 0;  // answers at the largest gap allowed

 private:
  enum class Stage { kProfile, kCoarse, kFine };
  struct Waiting {
    CommitHeader commit;
    Seconds arrived = 0;
  };

  void on_commit(Rank rank, const CommitHeader& commit) {
    Stage& stage = stages_[rank];
    if (commit.step) {
      ++bounded;
      EXPECT_EQ(*commit.step, steps_[rank] + 1);
      steps_[rank] = *commit.step;
      stage = stage == Stage::kCoarse ? Stage::kFine : stage;
    } else {
      ++unbounded;
      EXPECT_NE(stage, Stage::kFine) << "back in the coarse stage";
      stage = Stage::kCoarse;
    }
    waiting_[rank] = {commit, now()};
  }

  const std::int64_t bound_;
  std::map<Rank, std::int64_t> steps_;
  std::map<Rank, Stage> stages_;
  std::map<Rank, Waiting> waiting_;
  bool anybody_left_ = false;
};

Job random_job(Random& random) {
  std::vector<double> speeds(2 + random.below(5));
  for (double& speed : speeds) {
    speed = 0.2 + random.uniform();
  }
  Job job = simulated_job("ashl", speeds, 10 * std::ssize(speeds), 150);
  for (double& bandwidth : job.cluster.bandwidth) {
    bandwidth = 1e5 * (1 + 9 * random.uniform());
  }
  job.strategy.codec = random.below(2) == 0 ? CodecKind::kNone : CodecKind::kTopk;
  job.strategy.ps.servers = 1 + static_cast<int>(random.below(speeds.size()));
  job.strategy.of<AshlOptions>().h_preset_ahl = 1 + static_cast<std::int64_t>(random.below(8));
  job.strategy.of<AshlOptions>().h_preset_shl = 1 + static_cast<std::int64_t>(random.below(3));
  job.strategy.of<AshlOptions>().staleness = static_cast<std::int64_t>(random.below(4));
  job.cluster.slowdowns = {{0.1, 4}};
  return job;
}

// On every server: no bounded commit is answered too far ahead, and no other commit waits.
TEST(Ashl, NoFineCommitIsAppliedTooFarAheadAndNoCoarseOneWaits) {
  std::int64_t bounded = 0;
  std::int64_t unbounded = 0;
  std::int64_t at_the_bound = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed, 0xa541);
    Job job = random_job(random);
    job.strategy.of<AshlOptions>().loss_preset = 0.5;
    job.cluster.memory_bandwidth = kUnlimited;  // a server answers at the time of the commit
    ToyTask task(500, 10, seed, 0.02);
    std::vector<std::unique_ptr<Replica>> replicas;
    SimCluster cluster(job.cluster, servers_of(job));
    Unwatched observer;
    for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
      replicas.push_back(task.make_replica());
      cluster.start(rank, [&, replica = replicas.back().get()](Node& node) {
        train(node, {job, 500, *replica, observer, [] { return false; }});
      });
    }
    for (int server = 0; server < servers_of(job); ++server) {
      cluster.start(job.cluster.workers + server, [&](Node& node) {
        WatchedServer watched(node, job.strategy.of<AshlOptions>().staleness);
        run_server(watched, job);
        bounded += watched.bounded;
        unbounded += watched.unbounded;
        at_the_bound += watched.at_the_bound;
      });
    }
    cluster.start(kCoordinator, [&](Node& node) {
      const ServiceResult result = serve(node, job, 500, [] { return false; });
      EXPECT_FALSE(result.figures.empty());
    });
    cluster.run();
  }
  EXPECT_GT(bounded, 5'000);
  EXPECT_GT(unbounded, 500);
  EXPECT_GT(at_the_bound, 100);
}

// With one iteration between commits, no compression and a bound of 0, workers advance in step.
TEST(Ashl, DegeneratesToBsp) {
  Job job = simulated_job("ps_bsp", equal_speeds(4), 40, 80);
  ToyTask task(400, 23, 5, 0.01, 0.9);
  QuietMonitor monitor;
  const auto expected = simulate(job, task, monitor).model.parameters;
  job.strategy.sync = "ashl";
  job.strategy.codec = CodecKind::kNone;
  job.strategy.of<AshlOptions>().h_preset_ahl = 1;
  job.strategy.of<AshlOptions>().h_preset_shl = 1;
  job.strategy.of<AshlOptions>().staleness = 0;
  job.strategy.of<AshlOptions>().loss_preset = 1e9;  // fine from the beginning
  const RunOutcome outcome = simulate(job, task, monitor);
  EXPECT_LT(relative_difference(outcome.model.parameters, expected), 1e-5);
  EXPECT_EQ(row<Counts>(outcome, "shl_iterations"), (Counts{1, 1, 1, 1}));
}

// The measured profile matches the simulated machines.
TEST(Ashl, TheProfileIsThatOfTheMachines) {
  Job job = simulated_job("ashl", {1, 0.5, 0.25}, 30, 200);
  job.cluster.bandwidth = {4e6, 2e6, 1e6};
  job.cluster.server_bandwidth = 1e9;
  job.cluster.latency = 0;
  const RunOutcome outcome = simulate_phantom(job);
  const auto iteration = row<Numbers>(outcome, "profile_iteration");
  const auto push = row<Numbers>(outcome, "profile_push");
  const auto pull = row<Numbers>(outcome, "profile_pull");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(iteration[i] / (10e-3 / job.cluster.speeds[i]), 1, 1e-6);
    EXPECT_NEAR(push[i] / (4e5 / job.cluster.bandwidth[i]), 1, 0.01);
    EXPECT_NEAR(pull[i] / (4e5 / job.cluster.bandwidth[i]), 1, 0.01);
  }
  // GET_H with a preset of 4: the slowest worker's round is 4 * 0.04 + 0.8 s.
  EXPECT_EQ(row<Counts>(outcome, "ahl_iterations"), (Counts{76, 28, 4}));
}

// All workers commit equally often, because their rounds take equally long.
TEST(Ashl, RoundsOfAllTakeEquallyLong) {
  Job job = simulated_job("ashl", {1, 0.5, 0.25, 0.8}, 40, 3'000);
  job.strategy.codec = CodecKind::kNone;
  const RunOutcome outcome = simulate_phantom(job);
  const auto commits = row<Counts>(outcome, "commits");
  const auto [fewest, most] = std::ranges::minmax(commits);
  EXPECT_GT(fewest, 100);
  EXPECT_LT(static_cast<double>(most - fewest), 0.03 * static_cast<double>(most));
}

// A phantom has no loss, so the stage stays coarse.
TEST(Ashl, APhantomIsTimedInTheCoarseStage) {
  const RunOutcome outcome = simulate_phantom(simulated_job("ashl", {1, 0.5}, 20, 300));
  EXPECT_EQ(figure(outcome, "switch_seconds"), std::nullopt);
}

TEST(Ashl, TheStageChangesOnceAndSaysWhy) {
  Job job = simulated_job("ashl", {1, 0.5, 0.25}, 60, 400);
  job.strategy.codec = CodecKind::kNone;
  ToyTask task(1'000, 10, 3, 0.05);
  QuietMonitor monitor;
  const RunOutcome outcome = simulate(job, task, monitor);
  const auto at = figure(outcome, "switch_seconds");
  ASSERT_TRUE(at.has_value());
  EXPECT_GT(*at, 0);
  EXPECT_LT(*at, outcome.seconds);
  EXPECT_TRUE(row<std::string>(outcome, "switch_reason").starts_with("fine: loss"));
}

// A worker that becomes slow is measured again, and all workers get a new plan.
TEST(Ashl, ADriftMakesANewPlan) {
  Job job = simulated_job("ashl", {1, 1, 1}, 30, 3'000);
  job.strategy.codec = CodecKind::kNone;
  EXPECT_EQ(*figure(simulate_phantom(job), "plans"), 1);
  job.cluster.events = {{.at = 5.0, .worker = 2, .speed = 0.25}};
  const RunOutcome outcome = simulate_phantom(job);
  EXPECT_GE(*figure(outcome, "plans"), 2);
  const auto iterations = row<Counts>(outcome, "ahl_iterations");
  EXPECT_NEAR(static_cast<double>(iterations[0]) / static_cast<double>(iterations[2]), 4, 0.5);
}

// Random slow steps are not drift: they cause few new plans.
TEST(Ashl, JitterMakesFewPlans) {
  Job job = simulated_job("ashl", equal_speeds(4), 40, 4'000);
  job.cluster.slowdowns = {{0.3, 5}};
  const RunOutcome outcome = simulate_phantom(job);
  EXPECT_LT(*figure(outcome, "plans"), 40);
}

// Runs that end before all workers were measured.
TEST(Ashl, ShortRunsEnd) {
  for (std::int64_t steps = 1; steps < 12; ++steps) {
    const Job job = simulated_job("ashl", {1, 0.1, 0.4}, 30, steps);
    EXPECT_EQ(simulate_phantom(job).samples, 30 * steps);
  }
}

// As in the paper, fast links push least. Planned jointly, slow links push no more than the rest.
TEST(Ashl, PlannedJointlySlowLinksPushLess) {
  Job job = simulated_job("ashl", equal_speeds(3), 30, 400);
  job.strategy.of<AshlOptions>().joint = true;
  job.cluster.bandwidth = {1e7, 1e7, 1e6};
  const auto bytes = [&](CodecKind codec) {
    job.strategy.codec = codec;
    const RunOutcome outcome = simulate_phantom(job);
    const auto commits = row<Counts>(outcome, "commits");
    return static_cast<double>(outcome.workers[2].bytes_sent) / static_cast<double>(commits[2]);
  };
  EXPECT_LT(bytes(CodecKind::kTopk), 0.9 * bytes(CodecKind::kNone));
}

}  // namespace
}  // namespace motley
