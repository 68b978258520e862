#include "sync/weighted_mean.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <vector>

#include "base/random.h"

namespace motley {
namespace {

RC_GTEST_PROP(WeightedMean, IsTheSumOverTheWeights, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const auto any_model = [&](std::size_t size) {
    std::vector<float> model(size);
    for (float& value : model) {
      value = static_cast<float>(random.normal());
    }
    return model;
  };
  const auto size = *rc::gen::element<std::size_t>(1, 7, 2048, 2049, 5000);
  std::vector<float> own = any_model(size);
  const float own_weight = 1 + static_cast<float>(random.below(5));
  std::vector<double> expected(own.begin(), own.end());
  double weights = own_weight;
  for (double& value : expected) {
    value *= own_weight;
  }
  std::vector<std::vector<float>> models;
  std::vector<WeightedModel> others;
  for (std::uint64_t left = random.below(5); left > 0; --left) {
    models.push_back(any_model(size));
    others.push_back({models.back(), 1 + static_cast<float>(random.below(5))});
    weights += others.back().weight;
    for (std::size_t i = 0; i < size; ++i) {
      expected[i] += others.back().weight * static_cast<double>(models.back()[i]);
    }
  }
  weighted_mean({own.data(), own.size()}, others.empty() ? 1 : own_weight, others);
  for (std::size_t i = 0; i < size; ++i) {
    RC_ASSERT(std::abs(static_cast<double>(own[i]) - expected[i] / weights) < 1e-5);
  }
}

// A third is not a float: if the mean of three equal models were a little larger than one of them,
// models would grow with the number of iterations.
TEST(WeightedMean, OfEqualModelsIsTheModelHoweverOften) {
  std::vector<float> own(1000);
  Random random(1);
  for (float& value : own) {
    value = static_cast<float>(random.normal());
  }
  const std::vector<float> first = own;
  for (int i = 0; i < 10'000; ++i) {
    const std::vector<float> other = own;
    const std::vector<WeightedModel> others{{other}, {other}};
    weighted_mean({own.data(), own.size()}, 1, others);
  }
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_NEAR(own[i], first[i], 1e-5F * std::abs(first[i]));
  }
}

TEST(WeightedMean, OfPhantomsIsNothing) {
  const std::vector<WeightedModel> others{{}};
  weighted_mean({nullptr, 1000}, 1, others);
  weighted_mean({nullptr, 0}, 1, {});
}

}  // namespace
}  // namespace motley
