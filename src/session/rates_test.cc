// How fast real runs are when their workers change, next to what those who are there can do. Paced
// processes without torch. It measures time, so nothing else may run beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/toy_processes.h"

namespace motley::rates_test {
namespace {

constexpr int kWindow = 4;
constexpr double kBatch = 420;
constexpr Seconds kUnit = 1.5e-3;

class PaceMonitor final : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override { seen_.push_back(progress); }
  void on_metric(const Metric&) override {}
  std::optional<std::string> stop_requested() override { return std::nullopt; }
  bool abandon_requested() override { return false; }

  // How long a step usually takes, from two windows after `from` on. The median, because a machine
  // that does something else for a moment makes a step or two longer.
  Seconds usual_step(Seconds from, Seconds until) const {
    std::vector<Seconds> steps;
    std::int64_t begin = -1;
    for (std::size_t i = 1; i < seen_.size(); ++i) {
      const RunProgress& last = seen_[i - 1];
      const bool is_after = last.seconds >= from && seen_[i].seconds < until;
      begin = is_after && begin < 0 ? last.samples : begin;
      const double settled = static_cast<double>(begin) + 2 * kWindow * kBatch;
      const auto count = static_cast<double>(seen_[i].samples - last.samples) / kBatch;
      if (is_after && static_cast<double>(last.samples) >= settled && count > 0) {
        steps.insert(steps.end(), static_cast<std::size_t>(count),
                     (seen_[i].seconds - last.seconds) / count);
      }
    }
    EXPECT_GE(steps.size(), 5U) << "from " << from << " s to " << until << " s";
    std::ranges::sort(steps);
    return steps.empty() ? 0 : steps[steps.size() / 2];
  }

 private:
  std::vector<RunProgress> seen_;
};

// Three workers of speed 2. One of speed 1 comes; worker 0 is lost; another one comes in its place.
// Each time the steps soon take as long as those who are there need.
TEST(Rates, FollowThoseWhoAreThereWithinTwoWindows) {
  const Job job =
      toy_job({"cluster.workers=3", "cluster.speeds=[2,2,2]", "cluster.unit=1.5e-3",
               "cluster.respawn=0", "train.batch=420", "train.steps=90", "train.eval_every=0",
               "train.checkpoint_every=0", "data.samples=4200", "data.features=50",
               "strategy.allocation=adaptive", "strategy.adaptive.window=4",
               "cluster.event=[{at=0.2,kind='joins',worker=3},{at=3,kind='dies',worker=0},"
               "{at=5.5,kind='joins',worker=0}]"});
  PaceMonitor monitor;
  const RunOutcome outcome = train_toy(job, monitor);
  ASSERT_EQ(outcome.members.size(), 5U);
  const Seconds joined = outcome.members[3].joined;
  const Seconds lost = outcome.members[0].left.value_or(0);
  const Seconds replaced = outcome.members[4].joined;
  const auto expect_speed = [&](double speed, Seconds from, Seconds until) {
    const Seconds best = kBatch * kUnit / speed;
    const Seconds usual = monitor.usual_step(from, until);
    EXPECT_LE(usual, best / 0.97) << "speed " << speed;
    EXPECT_GE(usual, 0.97 * best) << "speed " << speed;
    fmt::print("speed {}: steps of {:.1f} ms, {:.3f} of what is possible\n", speed, 1e3 * usual,
               best / usual);
  };
  expect_speed(7, joined, lost);
  expect_speed(5, lost, replaced);
  expect_speed(7, replaced, outcome.seconds);
}

}  // namespace
}  // namespace motley::rates_test

int main(int argc, char** argv) { return motley::toy_main(argc, argv); }
