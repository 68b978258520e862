#include "motley/sync/parameter_server/staleness_bound.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace motley {
namespace {

using Ranks = std::vector<Rank>;

void arrive(StalenessBound& bound, Rank worker, std::optional<std::int64_t> step) {
  bound.arrive({worker, step, 0});
}

// The workers whose commits are applied now.
Ranks released(StalenessBound& bound) {
  Ranks workers;
  for (const GateDecision& decision : bound.decide()) {
    if (decision.applied) {
      workers.push_back(decision.worker);
    }
  }
  return workers;
}

TEST(StalenessBound, OfZeroReleasesAStepTogether) {
  StalenessBound bound(3, 0);
  for (std::int64_t step = 1; step < 4; ++step) {
    arrive(bound, 2, step);
    EXPECT_EQ(released(bound), Ranks{});
    arrive(bound, 0, step);
    EXPECT_EQ(released(bound), Ranks{});
    EXPECT_EQ(bound.waiting(), 2U);
    arrive(bound, 1, step);
    EXPECT_EQ(released(bound), (Ranks{2, 0, 1}));
    EXPECT_EQ(released(bound), Ranks{});
  }
}

TEST(StalenessBound, LetsAWorkerBeThisFarAhead) {
  StalenessBound bound(2, 2);
  for (std::int64_t step = 1; step <= 2; ++step) {
    arrive(bound, 0, step);
    EXPECT_EQ(released(bound), Ranks{0});
  }
  arrive(bound, 0, 3);
  EXPECT_EQ(released(bound), Ranks{});
  arrive(bound, 1, 1);
  EXPECT_EQ(released(bound), (Ranks{0, 1}));
}

TEST(StalenessBound, WithoutOneNobodyWaits) {
  StalenessBound bound(2, std::nullopt);
  for (std::int64_t step = 1; step < 100; ++step) {
    arrive(bound, 1, step);
    EXPECT_EQ(released(bound), Ranks{1});
  }
}

// Commits without a step are applied at once and are not counted: their worker's number stays.
TEST(StalenessBound, CommitsWithoutAStepAreNotBounded) {
  StalenessBound bound(2, 1);
  for (int i = 0; i < 5; ++i) {
    arrive(bound, 1, std::nullopt);
    EXPECT_EQ(released(bound), Ranks{1});
  }
  arrive(bound, 0, 1);
  EXPECT_EQ(released(bound), Ranks{0});
  arrive(bound, 0, 2);
  arrive(bound, 1, std::nullopt);
  EXPECT_EQ(released(bound), Ranks{1});
  arrive(bound, 1, 1);
  EXPECT_EQ(released(bound), (Ranks{0, 1}));
}

TEST(StalenessBound, WhoLeavesHoldsNobodyBack) {
  StalenessBound bound(3, 0);
  arrive(bound, 0, 1);
  arrive(bound, 1, 1);
  EXPECT_EQ(released(bound), Ranks{});
  bound.leave(2);
  EXPECT_EQ(released(bound), (Ranks{0, 1}));
  arrive(bound, 0, 2);
  bound.leave(0);  // its waiting commit is still applied
  EXPECT_EQ(released(bound), Ranks{});
  bound.leave(1);
  EXPECT_EQ(released(bound), Ranks{0});
}

TEST(StalenessBound, TellsWhyWhenAWorkersCommitsBeginToWaitAndNoLongerDo) {
  StalenessBound bound(3, 1);
  const auto decided = [&](Rank worker, std::int64_t step) {
    bound.arrive({worker, step, 0});
    const auto decisions = bound.decide();
    const auto own = std::ranges::find(decisions, worker, &GateDecision::worker);
    return std::pair(own->applied, own->reason);
  };
  using Decided = std::pair<bool, std::string>;
  EXPECT_EQ(decided(0, 1), (Decided{true, ""}));
  EXPECT_EQ(decided(2, 1), (Decided{true, ""}));
  EXPECT_EQ(decided(0, 2), (Decided{false, "2 ahead of worker 1, the slowest; 1 allowed"}));
  EXPECT_EQ(decided(1, 1), (Decided{true, ""}));  // and worker 0's with it
  EXPECT_EQ(decided(0, 3), (Decided{false, ""}));
  EXPECT_EQ(decided(1, 2), (Decided{true, ""}));
  EXPECT_EQ(decided(2, 2), (Decided{true, ""}));
  EXPECT_EQ(decided(1, 3), (Decided{true, ""}));
  EXPECT_EQ(decided(2, 3), (Decided{true, ""}));
  EXPECT_EQ(decided(0, 4), (Decided{true, "1 ahead of worker 1, the slowest; 1 allowed"}));
}

TEST(StalenessBound, ACommitMayBeAllowedToBeFurtherAhead) {
  StalenessBound bound(2, 1);
  bound.arrive({0, 3, 0}, 2);
  EXPECT_EQ(released(bound), Ranks{0});
  bound.arrive({0, 4, 0}, 2);
  EXPECT_EQ(released(bound), Ranks{});
  EXPECT_EQ(bound.slowest(), 1);
  EXPECT_EQ(bound.step_of(0), 4);
  arrive(bound, 1, 1);
  EXPECT_EQ(released(bound), (Ranks{0, 1}));
  bound.leave(1);
  EXPECT_EQ(bound.slowest(), 0);
  bound.leave(0);
  EXPECT_EQ(bound.slowest(), std::nullopt);
}

// Workers of random speed that wait for each answer, as with a real server. The expected decisions
// are computed independently from the commits sent.
class Schedule {
 public:
  explicit Schedule(std::uint64_t seed)
      : random_(seed),
        workers_(static_cast<int>(1 + random_.below(8))),
        bound_(random_.below(4) == 0 ? std::nullopt
                                     : std::optional<std::int64_t>(random_.below(5))),
        rule_(workers_, bound_) {
    for (Rank worker = 0; worker < workers_; ++worker) {
      slowness_.push_back(1 + random_.below(5));
      coarse_.push_back(random_.below(4));
      left_to_do_.push_back(random_.below(20));
    }
    step_.resize(slowness_.size(), 0);
    waiting_.resize(slowness_.size(), false);
    gone_.resize(slowness_.size(), false);
  }

  void run() {
    while (std::find(gone_.begin(), gone_.end(), false) != gone_.end()) {
      const std::size_t i = random_.below(slowness_.size());
      if (gone_[i] || waiting_[i] || random_.below(slowness_[i]) != 0) {
        continue;
      }
      act(i);
      // Several commits may arrive before the server decides.
      if (random_.below(3) != 0 || !somebody_can_go_on()) {
        look();
        if (testing::Test::HasFailure()) {
          return;
        }
      }
    }
    look();
    EXPECT_TRUE(arrivals_.empty());
    EXPECT_EQ(rule_.waiting(), 0U);
  }

 private:
  struct Arrival {
    Rank worker;
    std::int64_t step;  // 0: not bounded
  };

  bool somebody_can_go_on() const {
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      if (!gone_[i] && !waiting_[i]) {
        return true;
      }
    }
    return false;
  }

  void act(std::size_t i) {
    const auto worker = static_cast<Rank>(i);
    if (left_to_do_[i] == 0) {
      gone_[i] = true;
      rule_.leave(worker);
      return;
    }
    --left_to_do_[i];
    waiting_[i] = true;
    if (coarse_[i] > 0) {
      --coarse_[i];
      arrive(rule_, worker, std::nullopt);
      arrivals_.push_back({worker, 0});
    } else {
      arrive(rule_, worker, ++step_[i]);
      arrivals_.push_back({worker, step_[i]});
    }
  }

  // Exactly the commits that may be applied are released, once, in the order of arrival.
  void look() {
    std::int64_t least = INT64_MAX;
    for (std::size_t i = 0; i < gone_.size(); ++i) {
      least = gone_[i] ? least : std::min(least, step_[i]);
    }
    Ranks expected;
    std::vector<Arrival> still;
    for (const Arrival& arrival : arrivals_) {
      const bool held = bound_ && arrival.step > 0 && least < arrival.step - *bound_;
      if (held) {
        still.push_back(arrival);
      } else {
        expected.push_back(arrival.worker);
        waiting_[static_cast<std::size_t>(arrival.worker)] = false;
      }
    }
    arrivals_ = still;
    ASSERT_EQ(released(rule_), expected);
    ASSERT_EQ(released(rule_), Ranks{});
    ASSERT_TRUE(arrivals_.empty() || somebody_can_go_on()) << "a deadlock";
    for (std::size_t i = 0; i < gone_.size() && bound_; ++i) {
      if (!gone_[i]) {
        ASSERT_LE(step_[i] - least, *bound_ + (waiting_[i] ? 1 : 0));
      }
    }
  }

  Random random_;
  int workers_;
  std::optional<std::int64_t> bound_;
  StalenessBound rule_;
  std::vector<std::uint64_t> slowness_, coarse_, left_to_do_;  // by worker
  std::vector<std::int64_t> step_;
  std::vector<bool> waiting_, gone_;
  std::vector<Arrival> arrivals_;  // not released
};

TEST(StalenessBound, HoldsOnAnySchedule) {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    Schedule schedule(seed);
    schedule.run();
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace motley
