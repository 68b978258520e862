// Steps of weighted means, numbers that are summed with a step, and requests to stop, in virtual
// time.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "motley/sync/local_sgd.h"
#include "sim/cluster.h"
#include "sync/loop.h"
#include "tests/simulated_job.h"

namespace motley::weighted_steps_test {
namespace {

// Fits one parameter to samples whose values and weights depend on their index. A mean over no
// weight is not a number.
class WeightedFit final : public Replica {
 public:
  explicit WeightedFit(double heaviest) : heaviest_(heaviest) {}
  Block parameters() override { return {&parameter_, 1}; }
  Block gradient() override { return {gradient_, 1 + kTail}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex> samples) override {
    double sum = 0;
    weight_ = 0;
    for (const SampleIndex sample : samples) {
      const double weight =
          sample % 3 == 0 ? 0 : std::fmod(static_cast<double>(sample) * 0.37, 1) * heaviest_;
      weight_ += weight;
      sum += weight * (parameter_ - static_cast<double>(sample % 7));
    }
    gradient_[0] = weight_ > 0 ? static_cast<float>(sum) : kNotANumber;
    return weight_ > 0 ? sum : static_cast<double>(kNotANumber);
  }
  void apply(double scale) override {
    parameter_ -= 0.1F * static_cast<float>(scale) * gradient_[0];
    ++steps_;
  }
  double weight() const { return weight_; }
  float parameter() const { return parameter_; }
  int steps() const { return steps_; }

 private:
  static constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();

  const double heaviest_;
  double weight_ = 0;
  float parameter_ = 10;
  float gradient_[1 + kTail] = {};
  int steps_ = 0;
};

class ToldSteps final : public Observer {
 public:
  void on_step(Seconds, const Progress& progress, const WorkerResult&) override {
    counts.resize(progress.counts.size() > counts.size() ? progress.counts.size() : counts.size());
    for (std::size_t i = 0; i < progress.counts.size(); ++i) {
      counts[i] += progress.counts[i];
    }
    losses.push_back(progress.mean_loss);
    heard += progress.all_have_heard ? 1 : 0;
  }
  void on_snapshot(Seconds, const Progress&, Replica&) override {}

  std::vector<double> counts;
  std::vector<double> losses;
  int heard = 0;
};

struct FittedRank {
  explicit FittedRank(double heaviest) : replica(heaviest) {}
  WeightedFit replica;
  ToldSteps told;
  int steps = 0;
};

struct FitPlan {
  double heaviest = 4;
  bool has_weights = true;
  Rank stopper = -1;  // asks for the end in its third step
};

// The loop of one worker, with weights.
void fit(Node& node, const Job& job, const FitPlan& plan, FittedRank& mine) {
  const bool stops = node.rank() == plan.stopper;
  const Part part{job, 100, mine.replica, mine.told, [&] { return stops && mine.steps >= 2; }};
  Training training(node, part);
  while (const auto work = training.begin()) {
    StepResult result;
    node.busy(training.cost(), [&] { result.loss_sum = mine.replica.compute(work->samples); });
    if (plan.has_weights) {
      result.weight = mine.replica.weight();
    }
    result.counts = {static_cast<double>(work->count), 0.25};
    result.has_heard = mine.steps >= node.rank();
    training.finish(result);
    ++mine.steps;
  }
  training.end_run();
}

std::vector<FittedRank> fit_all(const Job& job, const FitPlan& plan = {}) {
  std::vector<FittedRank> ranks(static_cast<std::size_t>(job.cluster.workers),
                                FittedRank(plan.heaviest));
  SimCluster cluster(job.cluster, servers_of(job), 1);
  for (Rank rank = 0; rank < job.cluster.workers; ++rank) {
    cluster.start(rank, [&, rank](Node& node) {
      fit(node, job, plan, ranks[static_cast<std::size_t>(rank)]);
    });
  }
  for (int server = 0; server < servers_of(job); ++server) {
    cluster.start(job.cluster.workers + server, [&](Node& node) { run_server(node, job); });
  }
  cluster.start(kCoordinator, [&](Node& node) { serve(node, job, 100, [] { return false; }); });
  cluster.run();
  return ranks;
}

Job uneven_job(const std::string& sync, int workers, std::int64_t steps = 30) {
  Job job = simulated_job(sync, equal_speeds(workers), 10, steps);
  job.strategy.allocation = "static";
  job.strategy.shares.assign(static_cast<std::size_t>(workers), 1);
  job.strategy.shares.back() = 3;
  return job;
}

TEST(WeightedSteps, AnyWorkersTakeTheStepsOfOne) {
  for (const double heaviest : {1e-3, 4.0, 1e9}) {
    const FitPlan plan{.heaviest = heaviest};
    const auto alone = fit_all(uneven_job("all_reduce", 1), plan);
    for (const char* sync : {"all_reduce", "ps_bsp"}) {
      for (const FittedRank& rank : fit_all(uneven_job(sync, 4), plan)) {
        EXPECT_NEAR(rank.replica.parameter() / alone[0].replica.parameter(), 1, 1e-6) << heaviest;
        ASSERT_EQ(rank.told.losses.size(), alone[0].told.losses.size());
        for (std::size_t step = 0; step < rank.told.losses.size(); ++step) {
          EXPECT_NEAR(rank.told.losses[step], alone[0].told.losses[step], 1e-5) << sync;
        }
      }
    }
  }
}

// A coarse codec rounds the gradient, but not the weight: 70000 is more than a half can hold.
TEST(WeightedSteps, CodecsDoNotRoundWeights) {
  for (const char* sync : {"all_reduce", "ps_bsp"}) {
    Job job = uneven_job(sync, 3);
    job.strategy.codec = CodecKind::kBf16;
    const FitPlan plan{.heaviest = 70'000};
    const float alone = fit_all(uneven_job("all_reduce", 1), plan)[0].replica.parameter();
    for (const FittedRank& rank : fit_all(job, plan)) {
      EXPECT_NEAR(rank.replica.parameter() / alone, 1, 0.01) << sync;
    }
  }
}

// What has the same weights takes the same steps, whatever the weights are.
TEST(WeightedSteps, OwnStepsAreDividedByOwnWeights) {
  for (const char* sync : {"local_sgd", "partial_reduce", "hop", "ps_asp"}) {
    const auto light = fit_all(uneven_job(sync, 3), {.heaviest = 1});
    const auto heavy = fit_all(uneven_job(sync, 3), {.heaviest = 1024});
    for (std::size_t rank = 0; rank < 3; ++rank) {
      EXPECT_TRUE(std::isfinite(light[rank].replica.parameter())) << sync;
      EXPECT_NEAR(heavy[rank].replica.parameter() / light[rank].replica.parameter(), 1, 1e-4)
          << sync;
      EXPECT_LT(light[rank].replica.parameter(), 9) << sync;
    }
  }
}

TEST(WeightedSteps, WithoutWeightThereIsNoStep) {
  for (const char* sync : {"all_reduce", "ps_bsp", "local_sgd", "partial_reduce", "hop"}) {
    for (const FittedRank& rank : fit_all(uneven_job(sync, 3), {.heaviest = 0})) {
      EXPECT_EQ(rank.replica.parameter(), 10) << sync;
      EXPECT_EQ(rank.replica.steps(), 0) << sync;
      EXPECT_GT(rank.steps, 0);
    }
  }
}

TEST(StepCounts, AreSumsOverAllWorkers) {
  for (const char* sync : {"all_reduce", "ps_bsp", "local_sgd"}) {
    for (const FittedRank& rank : fit_all(uneven_job(sync, 3))) {
      ASSERT_EQ(rank.told.counts.size(), 2U) << sync;
      EXPECT_EQ(rank.told.counts[0], 300) << sync;
      EXPECT_EQ(rank.told.counts[1], 0.25 * 3 * 30) << sync;
    }
  }
  double seen = 0;  // at their own pace, each has its own
  for (const FittedRank& rank : fit_all(uneven_job("partial_reduce", 3))) {
    seen += rank.told.counts.at(0);
  }
  EXPECT_EQ(seen, 300);
}

// Rank r knows from its step r on: the last one decides.
TEST(StepCounts, AllHearAtTheSameStep) {
  for (const char* sync : {"all_reduce", "ps_bsp"}) {
    for (const FittedRank& rank : fit_all(uneven_job(sync, 3))) {
      EXPECT_EQ(rank.told.heard, 30 - 2) << sync;
    }
  }
}

TEST(Stop, TheNextCommonStepIsTheLast) {
  const FitPlan plan{.stopper = 1};
  for (const char* sync : {"all_reduce", "ps_bsp"}) {
    for (const FittedRank& rank : fit_all(uneven_job(sync, 3, 1'000), plan)) {
      EXPECT_EQ(rank.steps, 3) << sync;
    }
  }
  Job job = uneven_job("local_sgd", 3, 1'000);
  job.strategy.of<LocalSgdOptions>().steps = 5;
  for (const FittedRank& rank : fit_all(job, plan)) {
    EXPECT_EQ(rank.steps, 5);
  }
}

// The request to stop goes with the request for samples; no worker is dealt any afterwards.
TEST(Stop, AtTheirOwnPaceAllEndWithinAnIteration) {
  for (const char* sync :
       {"partial_reduce", "hop", "ad_psgd", "ps_asp", "ps_ssp", "ps_dssp", "adsp", "ashl"}) {
    const auto ranks = fit_all(uneven_job(sync, 3, 1'000), {.stopper = 1});
    EXPECT_LE(ranks[1].steps, 2 + 2) << sync;
    for (const FittedRank& rank : ranks) {
      EXPECT_LE(rank.steps, 12) << sync;  // a share of the slowest is three times as large
    }
  }
}

}  // namespace
}  // namespace motley::weighted_steps_test
