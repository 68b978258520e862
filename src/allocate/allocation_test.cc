#include "allocate/allocation.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>

namespace motley {
namespace {

AllocationOptions any_options() {
  AllocationOptions options;
  options.workers = *rc::gen::inRange(1, 65);
  options.total =
      static_cast<std::size_t>(options.workers) + *rc::gen::inRange<std::size_t>(0, 5'000);
  options.dead_band = 0.01;
  for (int i = 0; i < options.workers; ++i) {
    options.shares.push_back(*rc::gen::inRange(1, 1'000));
  }
  return options;
}

std::vector<StepCost> any_costs(int workers) {
  std::vector<StepCost> costs;
  for (int i = 0; i < workers; ++i) {
    costs.push_back({0, 1e-6 * *rc::gen::inRange(1, 10'000), 0});
  }
  return costs;
}

// For every allocation, initially and after any measurements.
RC_GTEST_PROP(Allocations, GiveSharesThatAddUpAndAreAtLeastOne, ()) {
  const AllocationOptions options = any_options();
  for (const Allocation& allocation : allocations()) {
    Decision decision = allocation.first(options);
    for (int round = 0; round < 3; ++round) {
      RC_ASSERT(decision.shares.size() == static_cast<std::size_t>(options.workers));
      RC_ASSERT(std::accumulate(decision.shares.begin(), decision.shares.end(), std::size_t{0}) ==
                options.total);
      RC_ASSERT(std::ranges::min(decision.shares) >= 1U);
      RC_ASSERT(!decision.reason.empty());
      if (allocation.next) {
        decision = allocation.next(decision.shares, any_costs(options.workers), options);
      }
    }
  }
}

TEST(Allocations, OnlyThoseThatAreToldSomethingHaveNextShares) {
  for (const Allocation& allocation : allocations()) {
    EXPECT_EQ(allocation.told != CostReport::kNothing, allocation.next != nullptr)
        << allocation.name;
  }
}

TEST(Allocations, StaticSharesAreThoseGiven) {
  const AllocationOptions options{.workers = 3, .total = 60, .shares = {1, 2, 3}, .dead_band = 0};
  EXPECT_EQ(find_allocation("static")->first(options).shares, (Shares{10, 20, 30}));
  EXPECT_EQ(find_allocation("none of that name"), nullptr);
}

// The authors' logged times, delay 0.1 s: 0.220/0.324, 0.258/0.286, 0.267/0.277, 0.273/0.272, then
// flat near 0.271. The model t = 0.44 p + (0, 0.1) fits them.
TEST(Dynamic, ConvergesAsTheAuthorsLogsDo) {
  constexpr std::size_t kBatch = 256;
  Shares shares = equal_shares(kBatch, 2);
  const std::vector<std::vector<Seconds>> logged = {
      {0.220, 0.324}, {0.258, 0.286}, {0.267, 0.277}, {0.273, 0.272}, {0.271, 0.271}};
  const Allocation& dynamic = *find_allocation("dynamic");
  for (const auto& epoch : logged) {
    std::vector<StepCost> costs;
    for (std::size_t i = 0; i < 2; ++i) {
      const double part = static_cast<double>(shares[i]) / kBatch;
      const Seconds mean = 0.44 * part + (i == 1 ? 0.1 : 0);
      EXPECT_NEAR(mean, epoch[i], 0.02 * epoch[i] + 0.002);
      costs.push_back({0, mean / static_cast<double>(shares[i]), 0});
    }
    shares = dynamic.next(shares, costs, {}).shares;
  }
}

// One more part would make the step longer: the rule alone would go back and forth.
TEST(Dynamic, StopsAtTheEndOfAPart) {
  std::vector<StepCost> costs{{0.1, 1e-3}, {0.1, 1e-3}};
  costs[1].micro_batch = 10;
  Shares shares{20, 20};
  Seconds longest = 1;
  for (int epoch = 0; epoch < 20; ++epoch) {
    const Shares next = find_allocation("dynamic")->next(shares, costs, {}).shares;
    const Seconds then = std::max(costs[0].of(next[0]), costs[1].of(next[1]));
    EXPECT_LE(then, longest) << "epoch " << epoch;
    shares = next;
    longest = then;
  }
  EXPECT_LE(shares[1], 10U);
  EXPECT_NEAR(longest, 0.13, 0.005);
}

RC_GTEST_PROP(Dynamic, TimesAreEqualAfterFourEpochsWithAFixedCost, ()) {
  const auto n = *rc::gen::inRange<std::size_t>(2, 9);
  std::vector<StepCost> true_costs;
  for (std::size_t i = 0; i < n; ++i) {
    true_costs.push_back(
        {1e-3 * *rc::gen::inRange(0, 100), 1e-3 * (1 + *rc::gen::inRange(0, 30) * 0.1), 0});
  }
  Shares shares = equal_shares(500 * n, static_cast<int>(n));
  Seconds shortest = 0;
  Seconds longest = 0;
  for (int epoch = 0; epoch <= 4; ++epoch) {
    std::vector<StepCost> costs;
    shortest = longest = true_costs[0].of(shares[0]);
    for (std::size_t i = 0; i < n; ++i) {
      const Seconds mean = true_costs[i].of(shares[i]);
      shortest = std::min(shortest, mean);
      longest = std::max(longest, mean);
      costs.push_back({0, mean / static_cast<double>(shares[i]), 0});
    }
    shares = find_allocation("dynamic")->next(shares, costs, {}).shares;
  }
  RC_ASSERT(longest <= 1.05 * shortest);
}

}  // namespace
}  // namespace motley
