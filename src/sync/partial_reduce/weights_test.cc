#include "sync/partial_reduce/weights.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

namespace motley {
namespace {

Weighting any_weighting() {
  return *rc::gen::element(Weighting::kConstant, Weighting::kDecay, Weighting::kEma);
}

double any_alpha() { return *rc::gen::inRange(1, 101) * 0.01; }

std::vector<std::int64_t> any_iterations() {
  const auto most = *rc::gen::element<std::int64_t>(2, 10, 1'000, 1'000'000'000);
  return *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, most)));
}

RC_GTEST_PROP(GroupWeights, AreNotNegativeAndSumToOne, ()) {
  const auto iterations = any_iterations();
  const auto weights = group_weights(any_weighting(), any_alpha(), iterations);
  RC_ASSERT(weights.size() == iterations.size());
  for (const double weight : weights) {
    RC_ASSERT(weight >= 0);
  }
  RC_ASSERT(std::abs(std::accumulate(weights.begin(), weights.end(), 0.0) - 1) < 1e-9);
}

RC_GTEST_PROP(GroupWeights, SumToOneAsFloatsToo, ()) {
  const auto weights = group_weights(any_weighting(), any_alpha(), any_iterations());
  const auto floats = float_weights(weights);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    RC_ASSERT(floats[i] >= 0);
    RC_ASSERT(std::abs(static_cast<double>(floats[i]) - weights[i]) < 1e-5);
    sum += static_cast<double>(floats[i]);
  }
  // As exact as floats allow: the largest weight is below 1 and rounded once.
  RC_ASSERT(std::abs(sum - 1) <= 0x1p-25);
}

RC_GTEST_PROP(GroupWeights, OfEqualIterationsAreEqual, ()) {
  const auto members = *rc::gen::inRange<std::size_t>(1, 50);
  const std::vector<std::int64_t> iterations(members, *rc::gen::inRange<std::int64_t>(0, 1'000));
  for (const double weight : group_weights(any_weighting(), any_alpha(), iterations)) {
    RC_ASSERT(weight == 1.0 / static_cast<double>(members));
  }
}

RC_GTEST_PROP(GroupWeights, OfTheSameIterationAreTheSame, ()) {
  const auto iterations = any_iterations();
  const auto weights = group_weights(any_weighting(), any_alpha(), iterations);
  for (std::size_t a = 0; a < iterations.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      RC_ASSERT(iterations[a] != iterations[b] || weights[a] == weights[b]);
    }
  }
}

RC_GTEST_PROP(GroupWeights, DecayNeverGivesMoreToTheStaler, ()) {
  const auto iterations = any_iterations();
  const auto weights = group_weights(Weighting::kDecay, any_alpha(), iterations);
  for (std::size_t a = 0; a < iterations.size(); ++a) {
    for (std::size_t b = 0; b < iterations.size(); ++b) {
      RC_ASSERT(iterations[a] > iterations[b] || weights[a] <= weights[b]);
    }
  }
}

TEST(GroupWeights, DecayWithoutDecayIsConstant) {
  const std::vector<std::int64_t> iterations{1, 5, 900};
  EXPECT_EQ(group_weights(Weighting::kDecay, 1, iterations),
            group_weights(Weighting::kConstant, 1, iterations));
}

TEST(GroupWeights, Decay) {
  const auto weights = group_weights(Weighting::kDecay, 0.5, std::vector<std::int64_t>{7, 5, 7});
  EXPECT_NEAR(weights[0], 4.0 / 9, 1e-12);
  EXPECT_NEAR(weights[1], 1.0 / 9, 1e-12);
}

// No member holds iteration 2, so its weight goes to the older member, which gets more than the
// newest.
TEST(GroupWeights, EmaGivesMissingIterationsToTheNearestOlder) {
  const auto weights = group_weights(Weighting::kEma, 0.9, std::vector<std::int64_t>{1, 3});
  EXPECT_NEAR(weights[0], (0.1 * 0.81 + 0.1 * 0.9) / (1 - 0.729), 1e-12);
  EXPECT_NEAR(weights[0], 0.63, 0.005);
  EXPECT_NEAR(weights[1], 0.1 / (1 - 0.729), 1e-12);
}

TEST(GroupWeights, EmaWithoutDecayCountsIterations) {
  const auto weights = group_weights(Weighting::kEma, 1, std::vector<std::int64_t>{10, 13, 13});
  EXPECT_NEAR(weights[0], 0.75, 1e-12);
  EXPECT_NEAR(weights[1], 0.125, 1e-12);
}

}  // namespace
}  // namespace motley
