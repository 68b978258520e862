// What a replica that reads ahead is told, by every method: a forecast that holds if the shares
// stay, and that changes nothing.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "runtime/simulate/simulate.h"
#include "tests/quiet_monitor.h"
#include "tests/simulated_job.h"
#include "tests/toy_task.h"

namespace motley {
namespace {

using Steps = std::vector<std::vector<SampleIndex>>;

// Counts how often the forecasts of its replicas came true.
class ForecastTask final : public Task {
 public:
  ForecastTask(std::int64_t samples, int ahead)
      : counts(static_cast<std::size_t>(samples), 0), toy_(samples, 7, 3, 0.01), ahead_(ahead) {}

  std::int64_t training_samples() const override { return toy_.training_samples(); }
  std::unique_ptr<Replica> make_replica() override {
    return std::make_unique<Forecast>(*this, toy_.make_replica());
  }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

  std::vector<std::int64_t> counts;  // by sample: how often it was computed
  int shares = 0;                    // that were computed
  std::map<std::size_t, int> hits;   // by how many steps ahead it was known

 private:
  struct Forecast final : public Replica {
    Forecast(ForecastTask& its_task, std::unique_ptr<Replica> its_model)
        : task(its_task), model(std::move(its_model)) {}
    Block parameters() override { return model->parameters(); }
    Block gradient() override { return model->gradient(); }
    Block buffers() override { return model->buffers(); }
    int reads_ahead() const override { return task.ahead_; }
    void expect(const Steps& steps) override { told.push_back(steps); }
    double compute(std::span<const SampleIndex> samples) override {
      ++task.shares;
      for (const SampleIndex sample : samples) {
        ++task.counts[sample];
      }
      // The newest forecast may already be for the next step.
      for (std::size_t back = 0; back < 4 && back < told.size(); ++back) {
        const Steps& steps = told[told.size() - 1 - back];
        const auto found = std::ranges::find_if(
            steps, [&](const auto& step) { return std::ranges::equal(step, samples); });
        if (found != steps.end()) {
          ++task.hits[static_cast<std::size_t>(found - steps.begin())];
        }
      }
      return model->compute(samples);
    }
    void apply(double scale) override { model->apply(scale); }
    void state(Archive& archive) override { model->state(archive); }

    ForecastTask& task;
    std::unique_ptr<Replica> model;
    std::vector<Steps> told;
  };

  ToyTask toy_;
  const int ahead_;
};

Job forecast_job(const std::string& sync) { return simulated_job(sync, {1, 0.9, 0.8}, 30, 40); }

// 100 samples: the fourth step of an epoch is short.
TEST(Forecast, CommonStepsAreKnownAsFarAheadAsAskedFor) {
  for (const std::string sync : {"all_reduce", "local_sgd", "ps_bsp"}) {
    ForecastTask task(100, 2);
    QuietMonitor monitor;
    simulate(forecast_job(sync), task, monitor);
    EXPECT_EQ(task.hits[0], task.shares - 3) << sync;  // the first one of each worker is not
    EXPECT_EQ(task.hits[1], task.shares - 6) << sync;
  }
}

TEST(Forecast, AtTheirOwnPaceWorkersKnowTheNextStep) {
  for (const std::string sync : {"hop", "ad_psgd", "ps_asp", "ps_ssp", "ps_dssp", "adsp", "ashl"}) {
    ForecastTask task(100, 2);
    QuietMonitor monitor;
    const RunOutcome outcome = simulate(forecast_job(sync), task, monitor);
    EXPECT_GE(task.hits[0], task.shares - 3) << sync;
    EXPECT_EQ(std::accumulate(task.counts.begin(), task.counts.end(), std::int64_t{0}),
              outcome.samples);
    const auto [least, most] = std::ranges::minmax(task.counts);
    EXPECT_LE(most - least, 1) << sync;
  }
}

TEST(Forecast, NothingIsSaidToWhoDoesNotReadAhead) {
  for (const std::string sync : {"all_reduce", "hop"}) {
    ForecastTask task(100, 0);
    QuietMonitor monitor;
    simulate(forecast_job(sync), task, monitor);
    EXPECT_TRUE(task.hits.empty()) << sync;
  }
}

// Shares that change make forecasts wrong, but what is dealt, and the model, stay as they are.
RC_GTEST_PROP(Forecast, ReadingAheadChangesNothing, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(31, 300);
  const std::string sync = *rc::gen::element<std::string>("all_reduce", "local_sgd");
  Job job = forecast_job(sync);
  job.strategy.allocation = *rc::gen::element<std::string>("equal", "adaptive");
  job.strategy.adaptive.window = 4;
  job.cluster.speeds = {1, 0.3, 0.6};
  ForecastTask plain(samples, 0);
  ForecastTask ahead(samples, *rc::gen::inRange(1, 5));
  QuietMonitor monitor;
  const RunOutcome one = simulate(job, plain, monitor);
  const RunOutcome other = simulate(job, ahead, monitor);
  RC_ASSERT(one.model.parameters == other.model.parameters);
  RC_ASSERT(plain.counts == ahead.counts);
  RC_ASSERT(one.seconds == other.seconds);
  RC_ASSERT(ahead.hits[0] > 0);
}

}  // namespace
}  // namespace motley
