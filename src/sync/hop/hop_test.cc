#include "sync/hop/hop.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"
#include "motley/sync/hop.h"
#include "runtime/simulate/simulate.h"
#include "sim/cluster.h"
#include "sync/hop/rules.h"
#include "sync/loop.h"
#include "tests/figure.h"
#include "tests/own_pace.h"
#include "tests/quiet_monitor.h"
#include "tests/relative_difference.h"
#include "tests/simulated_job.h"
#include "tests/still_models.h"
#include "tests/toy_task.h"
#include "tests/watched_node.h"

namespace motley::hop_test {
namespace {

Job hop_job(const std::vector<double>& speeds, GraphKind graph, std::int64_t steps) {
  Job job = simulated_job("hop", speeds, static_cast<std::int64_t>(speeds.size()), steps);
  job.strategy.of<HopOptions>().graph = graph;
  return job;
}

// A directed ring through all workers.
std::vector<Edge> directed_ring(int workers) {
  std::vector<Edge> edges;
  for (Rank rank = 0; rank < workers; ++rank) {
    edges.push_back({rank, (rank + 1) % workers});
  }
  return edges;
}

// A ring through all workers in random order, and some random edges.
std::vector<Edge> any_edges(int workers, Random& random) {
  std::vector<Rank> order(static_cast<std::size_t>(workers));
  std::iota(order.begin(), order.end(), 0);
  random.shuffle(std::span(order));
  std::vector<Edge> edges;
  for (std::size_t i = 0; i < order.size(); ++i) {
    edges.push_back({order[i], order[(i + 1) % order.size()]});
  }
  for (Rank from = 0; from < workers; ++from) {
    for (Rank to = 0; to < workers; ++to) {
      if (from != to && random.below(6) == 0) {
        edges.push_back({from, to});
      }
    }
  }
  return edges;
}

template <class T>
T one_of(std::initializer_list<T> items, Random& random) {
  return items.begin()[random.below(items.size())];
}

// A random graph, mode, speeds, network and length of the run.
Job any_job(std::uint64_t seed) {
  Random random(seed, 0x40b);
  const int workers = 2 + static_cast<int>(random.below(7));
  std::vector<double> speeds;
  for (int i = 0; i < workers; ++i) {
    speeds.push_back(one_of({0.1, 0.5, 1.0, 1.0, 2.0}, random));
  }
  Job job = hop_job(speeds,
                    one_of({GraphKind::kRing, GraphKind::kRingBased, GraphKind::kComplete,
                            GraphKind::kEdges, GraphKind::kEdges},
                           random),
                    1 + static_cast<std::int64_t>(random.below(40)));
  HopOptions& hop = job.strategy.of<HopOptions>();
  if (workers % 2 == 0 && random.below(4) == 0) {
    hop.graph = GraphKind::kDoubleRing;
  }
  hop.edges = any_edges(workers, random);
  const auto degree = static_cast<std::uint64_t>(hop.graph_among(workers).smallest_in_degree());
  hop.mode = one_of(
      {HopMode::kStandard, HopMode::kBackup, HopMode::kStaleness, HopMode::kNotifyAck}, random);
  hop.backup = static_cast<int>(random.below(degree));
  hop.staleness = static_cast<std::int64_t>(random.below(5));
  const bool has_backup = hop.mode == HopMode::kBackup;
  hop.max_gap = static_cast<std::int64_t>(has_backup ? 1 + random.below(5) : random.below(6));
  if (hop.max_gap > 0 && (has_backup || hop.mode == HopMode::kStaleness)) {
    hop.max_jump = static_cast<std::int64_t>(random.below(8));
  }
  job.seed = seed;
  job.train.batch *= 1 + static_cast<std::int64_t>(random.below(3));
  job.cluster.slowdowns = {{0.2, 6}};
  job.cluster.latency = one_of({0.0, 50e-6, 3e-3}, random);
  job.cluster.bandwidth.assign(speeds.size(), one_of({1e6, 1.25e9}, random));
  return job;
}

// A run whose iterations are observed. Tests may set `on_begin` of the watch.
ServiceResult run_watched(const Job& job, IterationWatch& watch) {
  constexpr std::int64_t kSamples = 500;
  SimCluster cluster(job.cluster);
  ServiceResult result;
  cluster.start(kCoordinator,
                [&](Node& node) { result = serve(node, job, kSamples, [] { return false; }); });
  std::vector<std::unique_ptr<PhantomReplica>> replicas;
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    replicas.push_back(std::make_unique<PhantomReplica>(1'000));
    cluster.start(rank, [&, replica = replicas.back().get()](Node& node) {
      WatchedNode watched(node, watch);
      Unwatched observer;
      train(watched, {job, kSamples, *replica, observer, [] { return false; }});
    });
  }
  cluster.run();
  return result;
}

std::int64_t number(const ServiceResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.figures, name, &Figure::name);
  return std::get<std::int64_t>(found->value);
}

// The paper's bounds on the sizes of a worker's queues; the largest over all workers.
struct Depths {
  std::int64_t updates = 0;
  std::int64_t tokens = 0;
};

Depths depth_bounds(const HopRules& rules, const Graph& graph) {
  Depths bounds;
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    const auto path = graph.distances_from(rank);
    std::int64_t updates = 0;
    for (const Rank sender : graph.in_neighbours(rank)) {
      const std::int64_t back = path[static_cast<std::size_t>(sender)];
      const std::int64_t by_updates = 1 + (rules.staleness + 1) * back;  // 2, s + 2 for neighbours
      const std::int64_t by_tokens = 1 + rules.max_gap;
      updates += rules.has_acks()                 ? 1
                 : rules.mode == HopMode::kBackup ? by_tokens
                 : rules.has_tokens()             ? std::min(by_updates, by_tokens)
                                                  : by_updates;
    }
    bounds.updates = std::max(bounds.updates, updates);
    for (const Rank giver : graph.out_neighbours(rank)) {
      const std::int64_t back = graph.distances_from(giver)[static_cast<std::size_t>(rank)];
      bounds.tokens = std::max(bounds.tokens, rules.max_gap * (back + 1));
    }
  }
  return bounds;
}

// The largest gaps by distance, looked at after all events of the same time have happened.
std::vector<std::int64_t> gaps_between_moments(const IterationWatch& watch, const Graph& graph) {
  std::vector<std::vector<int>> paths;
  for (Rank rank = 0; rank < graph.size(); ++rank) {
    paths.push_back(graph.distances_from(rank));
  }
  std::vector<std::int64_t> largest(static_cast<std::size_t>(graph.diameter()), 0);
  std::vector<std::int64_t> iteration(watch.iteration.size(), 0);
  for (std::size_t e = 0; e < watch.events.size(); ++e) {
    const auto& [at, rank, k] = watch.events[e];
    if (at >= watch.first_leave) {
      break;
    }
    iteration[static_cast<std::size_t>(rank)] = k;
    if (e + 1 < watch.events.size() && watch.events[e + 1].at == at) {
      continue;
    }
    for (std::size_t i = 0; i < iteration.size(); ++i) {
      for (std::size_t j = 0; j < iteration.size(); ++j) {
        if (i != j) {
          std::int64_t& gap = largest[static_cast<std::size_t>(paths[j][i] - 1)];
          gap = std::max(gap, iteration[i] - iteration[j]);
        }
      }
    }
  }
  return largest;
}

void check_bounds(const Job& job) {
  const Graph graph = job.strategy.of<HopOptions>().graph_among(job.cluster.workers);
  const HopRules rules = rules_of(job.strategy.of<HopOptions>());
  IterationWatch watch(graph.size());
  watch.on_begin = [&](Rank rank, std::int64_t k) {
    const std::int64_t last = watch.iteration[static_cast<std::size_t>(rank)];
    if (k > last + 1) {  // it skips: never past an out-neighbour, never by more than allowed
      EXPECT_LE(k - last, job.strategy.of<HopOptions>().max_jump);
      for (const Rank out : graph.out_neighbours(rank)) {
        const auto o = static_cast<std::size_t>(out);
        EXPECT_TRUE(watch.left[o] || k <= watch.iteration[o]);
      }
    }
  };
  const ServiceResult result = run_watched(job, watch);

  for (Rank j = 0; j < graph.size(); ++j) {
    const auto forth = graph.distances_from(j);
    for (Rank i = 0; i < graph.size(); ++i) {
      if (i != j) {
        const int back = graph.distances_from(i)[static_cast<std::size_t>(j)];
        const int path = forth[static_cast<std::size_t>(i)];
        const std::int64_t gap =
            watch.gap[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        EXPECT_LE(gap, gap_bound(rules, path, back)) << i << " ahead of " << j;
      }
    }
  }
  // The run reports the same.
  const auto& said = std::get<std::vector<std::int64_t>>(
      std::ranges::find(result.figures, "largest_gap_by_distance", &Figure::name)->value);
  EXPECT_EQ(said, gaps_between_moments(watch, graph));
  const Depths bounds = depth_bounds(rules, graph);
  EXPECT_LE(number(result, "largest_update_queue"), bounds.updates);
  EXPECT_LE(number(result, "largest_token_queue"), rules.has_tokens() ? bounds.tokens : 0);
}

constexpr std::uint64_t kSeeds = 3'000;

// For any graph, mode and delays: no deadlock, and no gap or queue exceeds its bound.
TEST(Hop, KeepsItsBoundsAndComesToAnEnd) {
  for (std::uint64_t seed = 0; seed < kSeeds && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    check_bounds(any_job(seed));
  }
}

// The bounds are tight: if one worker is slow enough, all others get as far ahead as the bounds
// allow.
TEST(Hop, ReachesItsBoundsOnADirectedRing) {
  constexpr int kWorkers = 6;
  const Graph graph(kWorkers, directed_ring(kWorkers));
  std::vector<double> speeds = equal_speeds(kWorkers);
  speeds[2] = 0.002;
  for (const HopMode mode : {HopMode::kStandard, HopMode::kStaleness}) {
    for (const std::int64_t max_gap : {0, 1, 2, 4}) {
      Job job = hop_job(speeds, GraphKind::kEdges, 20);
      job.strategy.of<HopOptions>().edges = directed_ring(kWorkers);
      job.strategy.of<HopOptions>().mode = mode;
      job.strategy.of<HopOptions>().staleness = 2;
      job.strategy.of<HopOptions>().max_gap = max_gap;
      const HopRules rules = rules_of(job.strategy.of<HopOptions>());
      IterationWatch watch(kWorkers);
      const ServiceResult result = run_watched(job, watch);
      const auto forth = graph.distances_from(2);
      std::int64_t largest = 0;
      for (Rank i = 0; i < kWorkers; ++i) {
        if (i != 2) {
          const int back = graph.distances_from(i)[2];
          const std::int64_t bound = gap_bound(rules, forth[static_cast<std::size_t>(i)], back);
          EXPECT_EQ(watch.gap[static_cast<std::size_t>(i)][2], bound)
              << static_cast<int>(mode) << " " << max_gap << ": " << i;
          largest = std::max(largest, bound);
        }
      }
      EXPECT_EQ(result.max_iteration_gap, largest);
      // The queue of the slow worker holds everything that its in-neighbour could send.
      EXPECT_EQ(number(result, "largest_update_queue"), slots_of(rules, graph, 2));
    }
  }
}

// Pairs on a directed ring: a worker without its predecessor's update uses its partner's. Only
// tokens hold workers back; each pair can be max_gap iterations further ahead than the one before.
TEST(Hop, ReachesTheBoundOfBackupWorkersWithTokens) {
  constexpr int kPairs = 4;
  constexpr std::int64_t kMaxGap = 3;
  std::vector<Edge> edges;
  for (int pair = 0; pair < kPairs; ++pair) {
    const Rank a = 2 * pair;
    edges.push_back({a, a + 1});
    edges.push_back({a + 1, a});
    edges.push_back({a, (a + 2) % (2 * kPairs)});
    edges.push_back({a + 1, (a + 3) % (2 * kPairs)});
  }
  std::vector<double> speeds = equal_speeds(2 * kPairs);
  speeds[0] = speeds[1] = 0.002;
  Job job = hop_job(speeds, GraphKind::kEdges, 40);
  job.strategy.of<HopOptions>().edges = edges;
  job.strategy.of<HopOptions>().mode = HopMode::kBackup;
  job.strategy.of<HopOptions>().max_gap = kMaxGap;
  const Graph graph(2 * kPairs, edges);
  IterationWatch watch(2 * kPairs);
  run_watched(job, watch);
  for (Rank i = 2; i < 2 * kPairs; i += 2) {
    EXPECT_EQ(watch.gap[static_cast<std::size_t>(i)][0], kMaxGap * graph.distances_from(i)[0]) << i;
  }
}

// A toy model that records the samples it computes.
class RecordingTask final : public Task {
 public:
  RecordingTask(std::int64_t samples, double lr) : toy_(samples, 10, 3, lr) {}
  std::int64_t training_samples() const override { return toy_.training_samples(); }
  std::unique_ptr<Replica> make_replica() override {
    recorded.emplace_back();
    return std::make_unique<Recorder>(toy_.make_replica(), recorded.back());
  }
  std::unique_ptr<Replica> make_plain() { return toy_.make_replica(); }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

  using Steps = std::vector<std::vector<SampleIndex>>;
  std::deque<Steps> recorded;  // by worker, its steps

 private:
  struct Recorder final : public Replica {
    Recorder(std::unique_ptr<Replica> its_model, Steps& its_steps)
        : model(std::move(its_model)), steps(its_steps) {}
    Block parameters() override { return model->parameters(); }
    Block gradient() override { return model->gradient(); }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override {
      steps.emplace_back(samples.begin(), samples.end());
      return model->compute(samples);
    }
    void apply(double scale) override { model->apply(scale); }
    std::unique_ptr<Replica> model;
    Steps& steps;
  };

  ToyTask toy_;
};

// On the complete graph every worker averages with all others. Computed by hand, each model becomes
// the mean of all models, minus its own step.
TEST(Hop, OnTheCompleteGraphIsSynchronousModelAveraging) {
  for (const auto& speeds : {equal_speeds(4), std::vector<double>{1, 0.3, 2, 1, 0.7}}) {
    constexpr std::int64_t kSteps = 40;
    const std::size_t workers = speeds.size();
    Job job = hop_job(speeds, GraphKind::kComplete, kSteps);
    job.train.batch = 8 * static_cast<std::int64_t>(workers);
    RecordingTask task(4 * job.train.batch, 0.02);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(job, task, monitor);

    std::vector<std::unique_ptr<Replica>> models;
    for (std::size_t i = 0; i < workers; ++i) {
      models.push_back(task.make_plain());
      ASSERT_EQ(task.recorded[i].size(), static_cast<std::size_t>(kSteps));
    }
    const auto mean_of_all = [&] {
      std::vector<float> mean(models[0]->parameters().size, 0.0F);
      for (const auto& model : models) {
        for (std::size_t i = 0; i < mean.size(); ++i) {
          mean[i] += model->parameters().data[i] / static_cast<float>(workers);
        }
      }
      return mean;
    };
    for (std::size_t step = 0; step < static_cast<std::size_t>(kSteps); ++step) {
      const std::vector<float> mean = mean_of_all();
      for (std::size_t i = 0; i < workers; ++i) {
        models[i]->compute(task.recorded[i][step]);
        std::ranges::copy(mean, models[i]->parameters().data);
        models[i]->apply(1.0 / 8);
      }
    }
    EXPECT_LT(relative_difference(outcome.model.parameters, mean_of_all()), 1e-5);
  }
}

TEST(Hop, WithoutStalenessOrBackupIsTheStandard) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Job job = any_job(seed);
    HopOptions& hop = job.strategy.of<HopOptions>();
    hop.backup = 0;
    hop.staleness = 0;
    hop.max_jump = 0;
    hop.max_gap = std::max<std::int64_t>(hop.max_gap, 1);
    ToyTask task(500, 10, 3, 0.05);
    QuietMonitor monitor;
    hop.mode = HopMode::kStandard;
    const RunOutcome standard = simulate(job, task, monitor);
    for (const HopMode mode : {HopMode::kBackup, HopMode::kStaleness}) {
      hop.mode = mode;
      const RunOutcome same = simulate(job, task, monitor);
      ASSERT_EQ(same.model.parameters, standard.model.parameters)
          << static_cast<int>(mode) << " " << seed;
      ASSERT_EQ(same.seconds, standard.seconds);
    }
  }
}

// For any allocation, more workers than samples, skipped iterations and early stops, every sample
// is used exactly once.
TEST(Hop, UsesEverySampleOnceAnEpoch) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Job job = any_job(seed);
    Random random(seed, 0x5a);
    job.strategy.allocation =
        one_of<std::string>({"equal", "static", "adaptive", "dynamic"}, random);
    const auto dataset = 1 + static_cast<std::int64_t>(random.below(300));
    expect_every_sample_once(job, dataset, random.below(2) == 0);
  }
}

TEST(Hop, LearnsTheRightAnswerInEveryMode) {
  for (const HopMode mode :
       {HopMode::kStandard, HopMode::kBackup, HopMode::kStaleness, HopMode::kNotifyAck}) {
    for (const std::int64_t max_jump : {0, 4}) {
      Job job = hop_job({1, 1, 1, 0.3}, GraphKind::kRing, 600);
      job.train.batch = 100;
      HopOptions& hop = job.strategy.of<HopOptions>();
      hop.mode = mode;
      hop.max_gap = 5;
      hop.staleness = 2;
      hop.max_jump = hop.mode == HopMode::kBackup || hop.mode == HopMode::kStaleness ? max_jump : 0;
      ToyTask task(1'000, 10, 3, 0.1);
      QuietMonitor monitor;
      const RunOutcome outcome = simulate(job, task, monitor);
      ASSERT_FALSE(monitor.metrics.empty());
      EXPECT_GT(monitor.metrics.back().accuracy, 0.99) << static_cast<int>(mode) << " " << max_jump;
      EXPECT_EQ(figure(outcome, "iterations_skipped") > 0, hop.max_jump > 0)
          << static_cast<int>(mode);
    }
  }
}

TEST(Hop, EvaluatesAsOftenAsAskedAndEndsAtTheTarget) {
  expect_evaluations_and_an_end_at_the_target(hop_job({1, 1, 1, 0.3}, GraphKind::kRing, 1));
}

// One worker and two workers.
TEST(Hop, OfFewWorkersIsTraining) {
  for (const int workers : {1, 2}) {
    Job job = hop_job(equal_speeds(workers), GraphKind::kRing, 300);
    job.train.batch = std::int64_t{50} * workers;
    ToyTask task(1'000, 10, 3, 0.1);
    QuietMonitor monitor;
    simulate(job, task, monitor);
    EXPECT_GT(monitor.metrics.back().accuracy, 0.99) << workers;
  }
}

TEST(Hop, TimesAddUp) {
  const RunOutcome outcome = simulate_phantom(hop_job({1, 1, 1, 0.25}, GraphKind::kRing, 200));
  for (const WorkerSummary& worker : outcome.workers) {
    const Seconds sum = worker.compute_seconds + worker.wait_seconds + worker.communicate_seconds;
    EXPECT_NEAR(sum, outcome.seconds, 1e-6);
  }
  EXPECT_GT(outcome.workers[0].wait_seconds, 0.7 * outcome.seconds);
  EXPECT_LT(outcome.workers[3].wait_seconds, 0.1 * outcome.seconds);
}

TEST(Hop, EndsWhenAWorkerIsLost) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    expect_an_end_when_a_worker_is_lost(any_job(seed), seed);
  }
}

TEST(SampleServer, ARequestThatMakesNoSenseEndsTheRun) {
  const Job job = hop_job(equal_speeds(2), GraphKind::kRing, 100);
  const auto send = [&](std::int64_t tag, const Payload& payload) {
    SimCluster cluster(job.cluster);
    cluster.start(kCoordinator, [&](Node& node) { serve(node, job, 100, [] { return false; }); });
    cluster.start(0,
                  [&](Node& node) { node.send(kCoordinator, Channel::kSamples, {tag}, payload); });
    EXPECT_THROW(cluster.run(), std::runtime_error);
  };
  send(0, Payload::of_record(SampleRequest{0, -1, 10, 0}));
  send(0, Payload::of_record(SampleRequest{0, 10, 0, 0}));
  send(0, Payload::of_record(SampleRequest{-1, 10, 10, 0}));
  send(0, {});
  send(1, {});  // a farewell before any request
}

}  // namespace
}  // namespace motley::hop_test
