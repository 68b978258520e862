// How methods deal samples: in which order, whole batches only, no shares that are too small,
// places that stay.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulated_job.h"

namespace motley {
namespace {

// Remembers every share, by worker in the order of their making.
class SharesTask final : public Task {
 public:
  explicit SharesTask(std::int64_t samples) : samples_(samples) {}
  std::int64_t training_samples() const override { return samples_; }
  std::unique_ptr<Replica> make_replica() override {
    shares.push_back(std::make_shared<std::vector<std::vector<SampleIndex>>>());
    return std::make_unique<Listener>(shares.back());
  }
  std::optional<Evaluation> evaluate(const Snapshot&) override { return std::nullopt; }
  std::string model_file(const Snapshot&) override { return {}; }

  using Shares = std::vector<std::vector<SampleIndex>>;
  std::vector<std::shared_ptr<Shares>> shares;

  // How often each sample was computed.
  std::map<SampleIndex, int> counts() const {
    std::map<SampleIndex, int> all;
    for (const auto& worker : shares) {
      for (const auto& share : *worker) {
        for (const SampleIndex sample : share) {
          ++all[sample];
        }
      }
    }
    return all;
  }

 private:
  struct Listener final : public Replica {
    explicit Listener(std::shared_ptr<Shares> its_shares) : heard(std::move(its_shares)) {}
    Block parameters() override { return {numbers.data(), 1}; }
    Block gradient() override { return {numbers.data(), 1 + kTail}; }
    Block buffers() override { return {}; }
    double compute(std::span<const SampleIndex> samples) override {
      heard->emplace_back(samples.begin(), samples.end());
      return 0;
    }
    void apply(double) override {}

    std::shared_ptr<Shares> heard;
    std::vector<float> numbers = std::vector<float>(1 + kTail, 0.0F);
  };

  const std::int64_t samples_;
};

std::string any_method() {
  return *rc::gen::element<std::string>("all_reduce", "local_sgd", "ps_bsp", "partial_reduce",
                                        "hop", "ps_asp", "ad_psgd", "adsp");
}

void run(const Job& job, SharesTask& task) {
  QuietMonitor monitor;
  simulate(job, task, monitor);
}

// Where the batch allows it: 12 samples among up to 6 workers, and no rest of one at the end of an
// epoch or of the run.
RC_GTEST_PROP(Dealing, NobodyGetsASingleSample, ()) {
  const int workers = *rc::gen::inRange(2, 7);
  Job job = simulated_job(any_method(), equal_speeds(workers), 12, 40);
  for (double& speed : job.cluster.speeds) {
    speed = *rc::gen::element(1.0, 0.3, 0.05);
  }
  job.strategy.allocation = *rc::gen::element<std::string>("equal", "adaptive", "dynamic");
  job.strategy.adaptive.window = 3;
  job.train.min_share = 2;
  const auto samples = *rc::gen::inRange<std::int64_t>(12, 60);
  RC_PRE(samples % 12 != 1);
  RC_PRE(12 * 40 % samples % 12 != 1);
  SharesTask task(samples);
  run(job, task);
  std::int64_t all = 0;
  for (const auto& worker : task.shares) {
    for (const auto& share : *worker) {
      RC_ASSERT(share.size() != 1U);
      all += static_cast<std::int64_t>(share.size());
    }
  }
  RC_ASSERT(all == 12 * 40);
}

RC_GTEST_PROP(Dealing, WholeBatchesAreOfTheSameNumberInEachEpoch, ()) {
  const auto samples = *rc::gen::inRange<std::int64_t>(12, 60);
  Job job = simulated_job(any_method(), {1, 0.7, 0.4}, 12, 0);
  job.train.steps.reset();
  job.train.epochs = 3;
  job.train.drop_last = true;
  job.train.order = SampleOrder::kSequential;
  SharesTask task(samples);
  run(job, task);
  const auto counts = task.counts();
  RC_ASSERT(std::ssize(counts) == samples / 12 * 12);
  for (const auto& [sample, times] : counts) {
    RC_ASSERT(times == 3);
    RC_ASSERT(sample < static_cast<SampleIndex>(samples / 12 * 12));
  }
}

// 50 samples in 4 streams of 12: each worker sees its two go on without a gap.
TEST(Dealing, AStreamStaysWithItsWorker) {
  for (const std::string sync : {"all_reduce", "local_sgd", "ps_bsp"}) {
    Job job = simulated_job(sync, {1, 0.5}, 4, 24);
    job.strategy.allocation = "equal";
    job.train.order = SampleOrder::kStreams;
    job.train.sticky = true;
    SharesTask task(50);
    run(job, task);
    for (SampleIndex rank = 0; rank < 2; ++rank) {
      SampleIndex t = 0;
      for (const auto& share : *task.shares[rank]) {
        EXPECT_EQ(share, (std::vector<SampleIndex>{24 * rank + t, 24 * rank + 12 + t})) << sync;
        t = (t + 1) % 12;
      }
      EXPECT_EQ(task.shares[rank]->size(), 24U);
    }
  }
}

}  // namespace
}  // namespace motley
