#include "sync/step_numbers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace motley {
namespace {

using Tail = std::array<float, Replica::kTail>;

// As reducers add them: in 32-bit floats.
Tail sum_of(const std::vector<StepResult>& results, const std::vector<bool>& has_samples) {
  Tail sums = {};
  for (std::size_t worker = 0; worker < results.size(); ++worker) {
    Tail tail = {};
    StepNumbers(tail).put(results[worker], has_samples[worker]);
    for (std::size_t i = 0; i < tail.size(); ++i) {
      sums[i] += tail[i];
    }
  }
  return sums;
}

RC_GTEST_PROP(StepNumbers, SumsOfWholeNumbersAreExact, ()) {
  const auto counts = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(-(std::int64_t{1} << 28), std::int64_t{1} << 28)));
  std::vector<StepResult> results;
  for (const std::int64_t count : counts) {
    const auto number = static_cast<double>(count);
    results.push_back({.weight = std::abs(number), .counts = {0.5, number}});
  }
  Tail sums = sum_of(results, std::vector<bool>(results.size(), true));
  const StepNumbers numbers(sums);
  RC_ASSERT(numbers.count(0) == 0.5 * static_cast<double>(counts.size()));
  RC_ASSERT(numbers.count(1) ==
            static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0})));
  RC_ASSERT(numbers.weight() ==
            std::accumulate(counts.begin(), counts.end(), 0.0, [](double sum, std::int64_t count) {
              return sum + std::abs(static_cast<double>(count));
            }));
}

TEST(StepNumbers, AWorkerWithoutSamplesHasNoSayAboutWeights) {
  const StepResult weighted{.weight = 3};
  Tail sums = sum_of({weighted, {}}, {true, false});
  EXPECT_EQ(StepNumbers(sums).weight(), 3);
  sums = sum_of({weighted, {}}, {false, true});
  EXPECT_EQ(StepNumbers(sums).weight(), std::nullopt);
  sums = sum_of({weighted, {}}, {true, true});
  EXPECT_THROW(static_cast<void>(StepNumbers(sums).weight()), std::logic_error);
  sums = sum_of({StepResult{.weight = 0}, StepResult{.weight = 0}}, {true, true});
  EXPECT_EQ(StepNumbers(sums).weight(), 0);
}

TEST(StepNumbers, AllHaveHeardIfEachHas) {
  const StepResult heard{.has_heard = true};
  Tail sums = sum_of({heard, heard, {}}, {true, true, true});
  EXPECT_FALSE(StepNumbers(sums).all_have_heard(3));
  sums = sum_of({heard, heard, heard}, {true, false, true});
  EXPECT_TRUE(StepNumbers(sums).all_have_heard(3));
}

// The rest of the tail is the method's.
TEST(StepNumbers, LeavesTheMethodsPartAlone) {
  Tail tail;
  tail.fill(7);
  StepNumbers(tail).put({}, true);
  for (std::size_t i = 0; i < Replica::kMethodTail; ++i) {
    EXPECT_EQ(tail[i], 7);
  }
}

}  // namespace
}  // namespace motley
