#include "cluster/fair_flows.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/random.h"

namespace motley::fair_flows_test {
namespace {

using LinkId = FairFlows::LinkId;
using FlowId = FairFlows::FlowId;

// The definition, as slowly as it reads: raise all rates together, in proportion to their weights;
// when a link is used up, its flows keep theirs.
std::vector<double> fair_rates(const std::vector<double>& capacities,
                               const std::vector<FairFlows::Path>& paths,
                               const std::vector<double>& weights) {
  std::vector<double> rates(paths.size(), 0);
  std::vector<bool> done(paths.size(), false);
  std::vector<double> left = capacities;
  while (std::ranges::find(done, false) != done.end()) {
    std::vector<double> rising(capacities.size(), 0);  // weights
    std::vector<bool> rises(capacities.size(), false);
    for (std::size_t i = 0; i < paths.size(); ++i) {
      for (const LinkId link : paths[i]) {
        rising[link] += done[i] ? 0 : weights[i];
        rises[link] = rises[link] || !done[i];
      }
    }
    std::size_t tightest = 0;
    double least = FairFlows::kNever;
    for (std::size_t link = 0; link < capacities.size(); ++link) {
      if (rises[link] && left[link] / rising[link] < least) {
        least = left[link] / rising[link];
        tightest = link;
      }
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
      if (!done[i] && std::ranges::find(paths[i], tightest) != paths[i].end()) {
        done[i] = true;
        rates[i] = least * weights[i];
        for (const LinkId link : paths[i]) {
          left[link] -= rates[i];
        }
      }
    }
  }
  return rates;
}

// All flows that end, with their times.
std::vector<std::pair<FlowId, Seconds>> run(FairFlows& flows) {
  std::vector<std::pair<FlowId, Seconds>> ends;
  while (flows.next_end() < FairFlows::kNever) {
    const Seconds now = flows.next_end();
    while (const auto ended = flows.take_ended(now)) {
      ends.emplace_back(*ended, now);
    }
  }
  return ends;
}

TEST(FairFlows, AFlowAloneHasTheSlowestLinkOfItsPath) {
  FairFlows flows;
  const auto a = flows.add(100), b = flows.add(20), c = flows.add(50);
  const FlowId flow = flows.begin({a, b, c}, 200, 1.0);
  EXPECT_DOUBLE_EQ(flows.rate(flow), 20);
  EXPECT_DOUBLE_EQ(flows.next_end(), 11);
  EXPECT_EQ(flows.take_ended(10.5), std::nullopt);
  EXPECT_EQ(flows.take_ended(11), flow);
  EXPECT_EQ(flows.next_end(), FairFlows::kNever);
}

TEST(FairFlows, TwoUnlikeFlowsShareALink) {
  FairFlows flows;
  const auto link = flows.add(10);
  const FlowId small = flows.begin({link}, 10, 0);
  const FlowId large = flows.begin({link}, 30, 0);
  const auto ends = run(flows);
  EXPECT_EQ(ends[0], std::pair(small, 2.0));
  EXPECT_EQ(ends[1], std::pair(large, 4.0));
}

TEST(FairFlows, AFlowThatJoinsHalfWaySlowsTheOther) {
  FairFlows flows;
  const auto link = flows.add(10);
  const FlowId first = flows.begin({link}, 20, 0);
  const FlowId second = flows.begin({link}, 20, 1);
  const auto ends = run(flows);
  EXPECT_EQ(ends[0], std::pair(first, 3.0));
  EXPECT_EQ(ends[1], std::pair(second, 4.0));
}

TEST(FairFlows, WhatASlowFlowLeavesGoesToTheOthers) {
  FairFlows flows;
  const auto server = flows.add(100), slow = flows.add(10), fast = flows.add(100);
  const FlowId a = flows.begin({slow, server}, 1, 0);
  const FlowId b = flows.begin({fast, server}, 1, 0);
  EXPECT_DOUBLE_EQ(flows.rate(a), 10);
  EXPECT_DOUBLE_EQ(flows.rate(b), 90);
}

TEST(FairFlows, ShareInProportionToTheirWeights) {
  FairFlows flows;
  const auto link = flows.add(90);
  const FlowId light = flows.begin({link}, 90, 0, 1);
  const FlowId heavy = flows.begin({link}, 90, 0, 2);
  EXPECT_DOUBLE_EQ(flows.rate(light), 30);
  EXPECT_DOUBLE_EQ(flows.rate(heavy), 60);
  const auto ends = run(flows);
  EXPECT_EQ(ends[0], std::pair(heavy, 1.5));
  EXPECT_EQ(ends[1], std::pair(light, 2.0));
}

TEST(FairFlows, FlowsThatBeginTogetherEndTogetherInOrder) {
  FairFlows flows;
  const auto server = flows.add(100);
  std::vector<FlowId> begun;
  for (int i = 0; i < 7; ++i) {
    begun.push_back(flows.begin({flows.add(100), server}, 100, 0));
  }
  const auto ends = run(flows);
  for (std::size_t i = 0; i < begun.size(); ++i) {
    EXPECT_EQ(ends[i].first, begun[i]);
    EXPECT_DOUBLE_EQ(ends[i].second, 7);
  }
}

TEST(FairFlows, ALinkThatChangesChangesItsFlows) {
  FairFlows flows;
  const auto link = flows.add(10);
  const FlowId flow = flows.begin({link}, 100, 0);
  flows.change(link, 40, 2);
  EXPECT_DOUBLE_EQ(flows.rate(flow), 40);
  EXPECT_DOUBLE_EQ(flows.next_end(), 4);
}

TEST(FairFlows, ACancelledFlowLeavesItsShare) {
  FairFlows flows;
  const auto link = flows.add(10);
  const FlowId stays = flows.begin({link}, 20, 0);
  const FlowId goes = flows.begin({link}, 100, 0);
  flows.cancel(goes, 2);
  const auto ends = run(flows);
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0], std::pair(stays, 3.0));
}

// A cluster of hosts with an uplink and a downlink each, and a backbone.
class Hosts {
 public:
  Hosts(std::uint64_t seed, int hosts, bool equal, bool has_backbone, bool weighted)
      : random_(seed), count_(hosts), weighted_(weighted) {
    for (int i = 0; i < 2 * hosts; ++i) {
      add(equal ? 100 : 1 + 10 * static_cast<double>(random_.below(20)));
    }
    if (has_backbone) {
      backbone_ = add(30 * static_cast<double>(hosts));
    }
  }

  void begin_any() {
    const auto from = static_cast<LinkId>(random_.below(static_cast<std::uint64_t>(count_)));
    // Often to the first hosts: servers.
    const auto to = static_cast<LinkId>(
        random_.below(static_cast<std::uint64_t>(random_.below(2) == 0 ? 2 : count_)));
    FairFlows::Path path{2 * from, 2 * to + 1};
    if (backbone_) {
      path.add(*backbone_);
    }
    begin(path);
  }

  void begin(const FairFlows::Path& path) {
    const double bytes = 1 + static_cast<double>(random_.below(1000));
    const double weight = weighted_ ? 0.5 + random_.uniform() : 1;
    const FlowId id = flows_.begin(path, bytes, now_, weight);
    under_way_[id] = {path, bytes, weight};
  }

  void change_any() {
    const auto link = random_.below(capacities_.size());
    capacities_[link] = 1 + static_cast<double>(random_.below(200));
    flows_.change(static_cast<LinkId>(link), capacities_[link], now_);
  }

  void cancel_any() {
    if (!under_way_.empty()) {
      auto chosen = under_way_.begin();
      std::advance(chosen, random_.below(under_way_.size()));
      flows_.cancel(chosen->first, now_);
      under_way_.erase(chosen);
    }
  }

  // Compares all rates with their definition, then goes on to the next end and compares it, too.
  void check_and_advance() {
    std::vector<FairFlows::Path> paths;
    std::vector<double> weights;
    for (const auto& [id, flow] : under_way_) {
      paths.push_back(flow.path);
      weights.push_back(flow.weight);
    }
    const auto rates = fair_rates(capacities_, paths, weights);
    Seconds end = FairFlows::kNever;
    std::size_t i = 0;
    for (const auto& [id, flow] : under_way_) {
      RC_ASSERT(std::abs(flows_.rate(id) - rates[i]) <= 1e-6 * rates[i]);
      end = std::min(end, now_ + flow.left / rates[i++]);
    }
    if (under_way_.empty()) {
      RC_ASSERT(flows_.next_end() == FairFlows::kNever);
      return;
    }
    RC_ASSERT(std::abs(flows_.next_end() - end) <= 1e-6 * end);
    advance(flows_.next_end(), rates);
  }

  void advance(Seconds until, const std::vector<double>& rates) {
    std::size_t i = 0;
    for (auto& [id, flow] : under_way_) {
      flow.left -= rates[i++] * (until - now_);
    }
    now_ = until;
    while (const auto ended = flows_.take_ended(now_)) {
      RC_ASSERT(std::abs(under_way_.at(*ended).left) <= 1e-3);
      const FairFlows::Path path = under_way_.at(*ended).path;
      under_way_.erase(*ended);
      if (random_.below(2) == 0) {  // as the next message of a connection
        begin(path);
      }
    }
  }

  std::uint64_t draw(std::uint64_t below) { return random_.below(below); }

 private:
  struct Sent {
    FairFlows::Path path;
    double left;
    double weight;
  };
  LinkId add(double capacity) {
    capacities_.push_back(capacity);
    return flows_.add(capacity);
  }

  Random random_;
  int count_;
  bool weighted_;
  FairFlows flows_;
  std::vector<double> capacities_;
  std::optional<LinkId> backbone_;
  std::map<FlowId, Sent> under_way_;
  Seconds now_ = 0;
};

RC_GTEST_PROP(FairFlows, RatesAreMaxMinFairWhateverBeginsAndEnds,
              (std::uint64_t seed, bool equal, bool has_backbone, bool weighted)) {
  const int hosts = *rc::gen::inRange(2, 12);
  Hosts cluster(seed, hosts, equal, has_backbone, weighted);
  for (int turn = 0; turn < 60; ++turn) {
    const auto begun = cluster.draw(5);
    for (std::uint64_t i = 0; i < begun; ++i) {
      cluster.begin_any();
    }
    if (cluster.draw(10) == 0) {
      cluster.change_any();
    }
    if (cluster.draw(10) == 0) {
      cluster.cancel_any();
    }
    cluster.check_and_advance();
  }
}

// More flows on a link than FairFlows leaves unwatched.
RC_GTEST_PROP(FairFlows, ManyFlowsOnALinkAreFairToo,
              (std::uint64_t seed, bool equal, bool weighted)) {
  Hosts cluster(seed, 100, equal, false, weighted);
  for (int i = 0; i < 300; ++i) {
    cluster.begin_any();
  }
  for (int turn = 0; turn < 20; ++turn) {
    cluster.begin_any();
    cluster.check_and_advance();
  }
}

}  // namespace
}  // namespace motley::fair_flows_test
