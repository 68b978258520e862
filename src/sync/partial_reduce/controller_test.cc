#include "sync/partial_reduce/controller.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "sync/partial_reduce/random_rules.h"

namespace motley {
namespace {

// True if these groups connect all workers; computed without the SyncGraph.
bool connects(std::span<const Group> groups, int workers) {
  std::set<Rank> reached{0};
  for (std::size_t before = 0; before < reached.size();) {
    before = reached.size();
    for (const Group& group : groups) {
      if (std::ranges::any_of(group.members, [&](Rank r) { return reached.contains(r); })) {
        reached.insert(group.members.begin(), group.members.end());
      }
    }
  }
  return static_cast<int>(reached.size()) == workers;
}

// How many groups from `start` on are needed to connect all workers; nullopt if there are too few.
std::optional<std::size_t> needed_from(std::span<const Group> groups, std::size_t start,
                                       int workers) {
  for (std::size_t count = 1; start + count <= groups.size(); ++count) {
    if (connects(groups.subspan(start, count), workers)) {
      return count;
    }
  }
  return std::nullopt;
}

// Workers that compute, become ready and average in random order; some are slower.
class Crowd {
 public:
  Crowd(const GroupRules& rules, std::uint64_t seed, int iterations)
      : rules_(rules), controller_(rules), random_(seed, 1), left_(iterations * rules.workers) {
    for (Rank rank = 0; rank < rules.workers; ++rank) {
      computing_[rank] = 0;
      weight_.push_back(1 + static_cast<int>(random_.below(4)));
    }
  }

  void run() {
    while (!over_) {
      RC_ASSERT(!computing_.empty());  // no worker waits for nothing
      signal(anyone());
      while (auto group = controller_.next_group(now_)) {
        release(std::move(*group));
      }
    }
    RC_ASSERT(waiting_.empty());
  }

  const std::vector<Group>& groups() const { return groups_; }
  // The groups that were formed while other workers could still become ready.
  std::size_t regular() const { return regular_; }
  const GroupStatistics& statistics() const { return controller_.statistics(); }

 private:
  Rank anyone() {
    std::vector<Rank> lots;
    for (const auto& [rank, iteration] : computing_) {
      lots.insert(lots.end(), static_cast<std::size_t>(weight_[static_cast<std::size_t>(rank)]),
                  rank);
    }
    return lots[static_cast<std::size_t>(random_.below(lots.size()))];
  }

  void signal(Rank rank) {
    now_ += random_.uniform();
    waiting_[rank] = computing_.extract(rank).mapped();
    if (--left_ > 0) {
      controller_.ready(rank, waiting_[rank], now_);
    } else {
      controller_.finished(rank, waiting_[rank], now_);
      finished_.insert(rank);
    }
  }

  void release(Group group) {
    const bool others_come = !computing_.empty();
    std::int64_t newest = 0;
    for (const Rank member : group.members) {
      RC_ASSERT(waiting_.contains(member));  // its signal is not lost and not served twice
      RC_ASSERT(group.last == finished_.contains(member));
      newest = std::max(newest, waiting_[member]);
    }
    RC_ASSERT(std::ranges::is_sorted(group.members));
    over_ = group.last;
    const std::size_t size = group.members.size();
    RC_ASSERT(size == static_cast<std::size_t>(group.last ? rules_.workers : rules_.group) ||
              (!others_come && size > 0 && size < static_cast<std::size_t>(rules_.group)));
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t own = waiting_.extract(group.members[i]).mapped();
      const bool is_own = rules_.weighting == Weighting::kConstant || group.last;
      RC_ASSERT(group.iterations[i] == (is_own ? own : newest));
      RC_ASSERT(group.staleness[i] == newest - own);
      computing_[group.members[i]] = group.iterations[i] + 1;
    }
    if (!group.last) {
      // The filter may give up only when a worker has finished and no other one can become ready.
      regular_ += finished_.empty() ? 1 : 0;
      groups_.push_back(std::move(group));
    }
  }

  const GroupRules rules_;
  Controller controller_;
  Random random_;
  int left_;
  Seconds now_ = 0;
  std::vector<int> weight_;
  std::map<Rank, std::int64_t> computing_;  // with their iterations
  std::map<Rank, std::int64_t> waiting_;
  std::set<Rank> finished_;
  std::vector<Group> groups_;
  std::size_t regular_ = 0;
  bool over_ = false;
};

RC_GTEST_PROP(Controller, ServesEverySignalOnce, ()) {
  const GroupRules rules = any_rules();
  Crowd crowd(rules, *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(1, 60));
  crowd.run();
  std::int64_t members = 0;
  for (const Group& group : crowd.groups()) {
    members += static_cast<std::int64_t>(group.members.size());
  }
  RC_ASSERT(crowd.statistics().groups == static_cast<std::int64_t>(crowd.groups().size()));
  RC_ASSERT(crowd.statistics().members == members);
}

RC_GTEST_PROP(Controller, ConnectsAllWorkersInEveryWindow, ()) {
  GroupRules rules = any_rules();
  rules.filter = true;
  Crowd crowd(rules, *rc::gen::arbitrary<std::uint32_t>(), *rc::gen::inRange(10, 60));
  crowd.run();
  const auto regular = std::span(crowd.groups()).first(crowd.regular());
  const auto window = static_cast<std::size_t>(rules.window);
  for (std::size_t start = 0; start + window <= regular.size(); ++start) {
    RC_ASSERT(connects(regular.subspan(start, window), rules.workers));
  }
  const auto longest = crowd.statistics().longest_window;
  RC_ASSERT(regular.size() < window || longest.has_value());
  RC_ASSERT(longest.value_or(0) <= rules.window);
}

// Compared with the definition, from every group on.
RC_GTEST_PROP(Controller, KnowsTheLongestWindow, ()) {
  GroupRules rules = any_rules();
  rules.workers = std::min(rules.workers, 6);
  rules.group = std::min(rules.group, std::max(rules.workers, 2));
  rules.window = std::max<std::int64_t>(rules.window, rules.workers);
  Controller controller(rules);
  Random random(*rc::gen::arbitrary<std::uint32_t>(), 2);
  std::vector<Group> groups;
  std::vector<Rank> order = {0, 1, 2, 3, 4, 5};
  order.resize(static_cast<std::size_t>(rules.workers));
  std::set<Rank> computing(order.begin(), order.end());
  for (int i = *rc::gen::inRange(1, 100); i > 0; --i) {
    random.shuffle(std::span(order));
    const auto next = std::ranges::find_if(order, [&](Rank r) { return computing.contains(r); });
    computing.erase(*next);
    controller.ready(*next, 0, 0);
    while (auto group = controller.next_group(0)) {
      computing.insert(group->members.begin(), group->members.end());
      groups.push_back(std::move(*group));
    }
  }
  std::optional<std::int64_t> longest;
  for (std::size_t start = 0; start < groups.size(); ++start) {
    const auto needed = needed_from(groups, start, rules.workers);
    if (!longest && !needed) {
      break;  // never connected
    }
    // The remaining groups do not connect all workers: at least one more would be needed.
    const std::size_t more = groups.size() - start + 1;
    longest = std::max(longest.value_or(0), static_cast<std::int64_t>(needed.value_or(more)));
  }
  RC_ASSERT(controller.statistics().longest_window == longest);
}

Controller of(int workers, int group, std::int64_t window, bool filter = true) {
  GroupRules rules;
  rules.workers = workers;
  rules.group = group;
  rules.window = window;
  rules.filter = filter;
  return Controller(rules);
}

std::vector<Rank> members(const std::optional<Group>& group) {
  return group ? group->members : std::vector<Rank>{};
}

TEST(Controller, ServesFirstComeFirst) {
  Controller controller = of(6, 3, 20);
  controller.ready(4, 0, 0);
  controller.ready(1, 0, 0);
  EXPECT_FALSE(controller.next_group(0));
  controller.ready(3, 0, 0);
  controller.ready(0, 0, 0);
  const auto group = controller.next_group(0);
  EXPECT_EQ(members(group), (std::vector<Rank>{1, 3, 4}));
  EXPECT_EQ(group->reason, "first come, first served");
  EXPECT_FALSE(controller.next_group(0));
  EXPECT_TRUE(controller.is_waiting(0));
  EXPECT_FALSE(controller.is_waiting(1));
}

// 0 and 1 are always ready before 2 and 3. At the end of the window they wait for one of them.
TEST(Controller, HoldsAGroupBackUntilItConnects) {
  Controller controller = of(4, 2, 3);
  const auto pair = [&](Rank a, Rank b) {
    controller.ready(a, 0, 0);
    controller.ready(b, 0, 0);
    return members(controller.next_group(0));
  };
  EXPECT_EQ(pair(0, 1), (std::vector<Rank>{0, 1}));
  EXPECT_EQ(pair(0, 1), (std::vector<Rank>{}));  // three joins are needed, and two groups are left
  controller.ready(2, 0, 0);
  const auto bridge = controller.next_group(0);
  EXPECT_EQ(members(bridge), (std::vector<Rank>{0, 2}));
  EXPECT_EQ(bridge->reason, "connects parts of the cluster that would drift apart");
  EXPECT_EQ(pair(0, 2), (std::vector<Rank>{}));
  controller.ready(3, 0, 0);
  EXPECT_EQ(members(controller.next_group(0)), (std::vector<Rank>{1, 3}));
}

// Half a window before they must, 0 and 1 wait for 2 and 3, which usually come a tenth of a period
// later. They wait for at most a quarter of a period if 2 and 3 are late.
TEST(Controller, WaitsForAConnectionAsLongAsThatIsShort) {
  for (const bool is_late : {false, true}) {
    Controller controller = of(4, 2, 20);
    const auto both_ready = [&](Rank a, Rank b, Seconds now) {
      controller.ready(a, 0, now);
      controller.ready(b, 0, now);
      return members(controller.next_group(now));
    };
    for (int k = 0; k < 5; ++k) {
      EXPECT_EQ(both_ready(0, 1, k), (std::vector<Rank>{0, 1}));
      EXPECT_EQ(both_ready(2, 3, k + 0.1), (std::vector<Rank>{2, 3}));
    }
    EXPECT_EQ(both_ready(0, 1, 5), (std::vector<Rank>{}));
    EXPECT_EQ(controller.patience_until(), 5.25);
    if (is_late) {
      EXPECT_EQ(members(controller.next_group(5.25)), (std::vector<Rank>{0, 1}));
    } else {
      controller.ready(2, 0, 5.1);
      EXPECT_EQ(members(controller.next_group(5.1)), (std::vector<Rank>{0, 2}));
    }
  }
}

TEST(Controller, WithoutTheFilterHalvesDriftApart) {
  Controller controller = of(4, 2, 3, false);
  for (int i = 0; i < 100; ++i) {
    for (const Rank rank : {0, 1, 2, 3}) {
      controller.ready(rank, i, i);
      controller.next_group(0);
    }
  }
  EXPECT_EQ(controller.statistics().groups, 200);
  EXPECT_EQ(controller.statistics().longest_window, std::nullopt);
}

TEST(Controller, TheLastGroupsMayBeSmaller) {
  Controller controller = of(3, 2, 20);
  controller.ready(0, 0, 0);
  controller.finished(1, 7, 0);
  EXPECT_FALSE(controller.next_group(0));  // 2 may still come
  controller.finished(2, 7, 0);
  const auto alone = controller.next_group(0);
  EXPECT_EQ(members(alone), (std::vector<Rank>{0}));
  EXPECT_EQ(alone->weights, (std::vector<double>{1}));
  EXPECT_FALSE(controller.next_group(0));
  controller.finished(0, 1, 0);
  const auto last = controller.next_group(0);
  EXPECT_EQ(members(last), (std::vector<Rank>{0, 1, 2}));
  EXPECT_TRUE(last->last);
}

TEST(Controller, CountsStalenessAndTheGap) {
  Controller controller = of(3, 2, 20);
  controller.ready(0, 9, 0);
  controller.ready(1, 4, 0);
  controller.next_group(0);
  const GroupStatistics& statistics = controller.statistics();
  EXPECT_EQ(statistics.staleness, 5);
  EXPECT_EQ(statistics.largest_staleness, 5);
  EXPECT_EQ(statistics.largest_gap, 9);
}

}  // namespace
}  // namespace motley
