#include "sync/partial_reduce/window_policy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"
#include "sync/partial_reduce/controller.h"
#include "sync/partial_reduce/random_rules.h"

namespace motley::window_policy_test {
namespace {

TEST(WindowPolicy, WhoIsReadyWithinTheWaitIsAGroup) {
  const WindowPolicy policy(4, 2);
  const ReadyQueue one{.count = 1, .still_to_come = 3, .first_came = 5, .first_period = 2};
  EXPECT_EQ(policy.size_now(one, 5), 0U);
  EXPECT_EQ(policy.ask_again(one), 5 + 0.01 * 2);
  EXPECT_EQ(policy.size_now(one, policy.ask_again(one)), 1U);
  const ReadyQueue three{.count = 3, .still_to_come = 1, .first_came = 5, .first_period = 2};
  EXPECT_EQ(policy.size_now(three, 5.01), 0U);
  EXPECT_EQ(policy.size_now(three, 5.02), 3U);
  const ReadyQueue all{.count = 4, .still_to_come = 0, .first_came = 5, .first_period = 2};
  EXPECT_EQ(policy.size_now(all, 5), 4U);
}

TEST(WindowPolicy, TheWaitAdaptsToTheGroupsThatItBrings) {
  WindowPolicy policy(4, 2);
  policy.left(1);
  EXPECT_DOUBLE_EQ(policy.wait(), 0.02);
  policy.left(3);
  EXPECT_DOUBLE_EQ(policy.wait(), 0.018);
  for (int i = 0; i < 100; ++i) {
    policy.left(1);
  }
  EXPECT_EQ(policy.wait(), WindowPolicy::kLongestWait);
  for (int i = 0; i < 100; ++i) {
    policy.left(2);
  }
  EXPECT_EQ(policy.wait(), WindowPolicy::kShortestWait);
}

// Workers that compute, become ready and average on a virtual clock. Some are slower, and all
// iterations vary in length. The controller is called whenever a worker becomes ready and at the
// times that it asks for.
class TimedCrowd {
 public:
  TimedCrowd(const GroupRules& rules, double jitter, std::uint64_t seed, int iterations)
      : rules_(rules),
        controller_(rules, std::make_unique<WindowPolicy>(static_cast<std::size_t>(rules.workers),
                                                          static_cast<std::size_t>(rules.group))),
        jitter_(jitter),
        random_(seed, 3),
        left_(iterations * rules.workers) {
    for (Rank rank = 0; rank < rules.workers; ++rank) {
      period_.push_back(1.0 + static_cast<double>(random_.below(4)));
      compute(rank, 0);
    }
  }

  void make_speeds_equal() { std::ranges::fill(period_, 1.0); }

  void run() {
    while (!over_) {
      const auto next = std::ranges::min_element(
          computing_, {}, [](const auto& each) { return each.second.until; });
      const Seconds comes = next != computing_.end() ? next->second.until : Controller::kForever;
      const Seconds asked = std::min(comes, controller_.patience_until());
      RC_ASSERT(asked < Controller::kForever);  // no worker waits for nothing
      RC_ASSERT(asked >= now_);
      now_ = asked;
      if (asked == comes) {
        signal(next->first);
      }
      while (const auto group = controller_.next_group(now_)) {
        release(*group);
      }
    }
    RC_ASSERT(waiting_.empty());
  }

  // The members of each group, except the final average of all workers.
  const std::vector<std::vector<Rank>>& groups() const { return groups_; }
  // The groups that were formed before any worker had finished.
  std::size_t regular() const { return regular_; }
  // The longest wait before that, as a fraction of the worker's iteration.
  double longest_wait() const { return longest_wait_; }
  const GroupStatistics& statistics() const { return controller_.statistics(); }

 private:
  struct Computing {
    std::int64_t iteration = 0;
    Seconds until = 0;
  };
  struct Waiting {
    std::int64_t iteration = 0;
    Seconds since = 0;
    Seconds period = 0;  // since its last signal
  };

  void compute(Rank rank, std::int64_t iteration) {
    const Seconds took =
        period_[static_cast<std::size_t>(rank)] * (1 + jitter_ * random_.uniform());
    computing_[rank] = {iteration, now_ + took};
  }

  void signal(Rank rank) {
    const std::int64_t iteration = computing_.extract(rank).mapped().iteration;
    waiting_[rank] = {iteration, now_, now_ - last_signal_[rank]};
    last_signal_[rank] = now_;
    if (--left_ > 0) {
      controller_.ready(rank, iteration, now_);
    } else {
      controller_.finished(rank, iteration, now_);
      finished_.insert(rank);
    }
  }

  void release(const Group& group) {
    over_ = group.last;
    RC_ASSERT(!group.members.empty());
    RC_ASSERT(std::ranges::is_sorted(group.members));
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const Rank member = group.members[i];
      RC_ASSERT(waiting_.contains(member));  // its signal is not lost and not served twice
      RC_ASSERT(group.last == finished_.contains(member));
      const Waiting was = waiting_.extract(member).mapped();
      RC_ASSERT(group.last || group.iterations[i] >= was.iteration);
      if (finished_.empty()) {
        longest_wait_ = std::max(longest_wait_, (now_ - was.since) / was.period);
      }
      compute(member, group.iterations[i] + 1);
    }
    for (const auto& [rank, waiting] : waiting_) {
      RC_ASSERT(finished_.contains(rank));  // every ready worker is in the group
    }
    if (!group.last) {
      regular_ += finished_.empty() ? 1 : 0;
      groups_.push_back(group.members);
    }
  }

  const GroupRules rules_;
  Controller controller_;
  const double jitter_;
  Random random_;
  int left_;
  Seconds now_ = 0;
  std::vector<double> period_;  // by worker
  std::map<Rank, Computing> computing_;
  std::map<Rank, Waiting> waiting_;
  std::map<Rank, Seconds> last_signal_;
  std::set<Rank> finished_;
  std::vector<std::vector<Rank>> groups_;
  std::size_t regular_ = 0;
  double longest_wait_ = 0;
  bool over_ = false;
};

double any_jitter() { return *rc::gen::element(0.0, 0.01, 0.3); }

RC_GTEST_PROP(WindowPolicy, ServesEverySignalOnce, ()) {
  const GroupRules rules = any_rules();
  TimedCrowd crowd(rules, any_jitter(), *rc::gen::arbitrary<std::uint32_t>(),
                   *rc::gen::inRange(1, 60));
  crowd.run();
  std::int64_t members = 0;
  for (const auto& group : crowd.groups()) {
    members += static_cast<std::int64_t>(group.size());
  }
  RC_ASSERT(crowd.statistics().members == members);
  RC_ASSERT(crowd.statistics().groups == std::ssize(crowd.groups()));
}

// True if these groups connect all workers; computed without the SyncGraph.
bool connects(std::span<const std::vector<Rank>> groups, int workers) {
  std::set<Rank> reached{0};
  for (std::size_t before = 0; before < reached.size();) {
    before = reached.size();
    for (const auto& group : groups) {
      if (std::ranges::any_of(group, [&](Rank rank) { return reached.contains(rank); })) {
        reached.insert(group.begin(), group.end());
      }
    }
  }
  return static_cast<int>(reached.size()) == workers;
}

RC_GTEST_PROP(WindowPolicy, ConnectsAllWorkersInEveryWindow, ()) {
  GroupRules rules = any_rules();
  rules.filter = true;
  TimedCrowd crowd(rules, any_jitter(), *rc::gen::arbitrary<std::uint32_t>(),
                   *rc::gen::inRange(10, 60));
  crowd.run();
  const auto regular = std::span(crowd.groups()).first(crowd.regular());
  const auto window = static_cast<std::size_t>(rules.window);
  for (std::size_t start = 0; start + window <= regular.size(); ++start) {
    RC_ASSERT(connects(regular.subspan(start, window), rules.workers));
  }
  RC_ASSERT(crowd.statistics().longest_window.value_or(0) <= rules.window);
}

// Looks at the first worker of a group. The others came later, and their iterations take at least a
// seventh of its time.
RC_GTEST_PROP(WindowPolicy, WithoutTheFilterNobodyWaitsForLong, ()) {
  GroupRules rules = any_rules();
  rules.filter = false;
  TimedCrowd crowd(rules, any_jitter(), *rc::gen::arbitrary<std::uint32_t>(),
                   *rc::gen::inRange(1, 60));
  crowd.run();
  RC_ASSERT(crowd.longest_wait() <= 7 * WindowPolicy::kLongestWait);
}

// Workers whose speeds differ by at most 1 % meet in groups of about the wanted size.
TEST(WindowPolicy, GroupsAreAsLargeAsWanted) {
  GroupRules rules;
  rules.workers = 8;
  rules.group = 4;
  rules.window = 20;
  TimedCrowd crowd(rules, 0.01, 7, 400);
  crowd.make_speeds_equal();
  crowd.run();
  const double mean = static_cast<double>(crowd.statistics().members) /
                      static_cast<double>(crowd.statistics().groups);
  EXPECT_GT(mean, 3);
}

}  // namespace
}  // namespace motley::window_policy_test
