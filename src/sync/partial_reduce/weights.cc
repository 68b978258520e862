#include "sync/partial_reduce/weights.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>

#include "base/check.h"

namespace motley {
namespace {

std::vector<double> decay(double alpha, std::span<const std::int64_t> iterations) {
  const std::int64_t newest = std::ranges::max(iterations);
  std::vector<double> weights;
  for (const std::int64_t iteration : iterations) {
    weights.push_back(std::pow(alpha, static_cast<double>(newest - iteration)));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) {
    weight /= sum;
  }
  return weights;
}

// The weight of the first `count` iterations in an exponential moving average over `length`
// iterations: the sum of (1 - alpha) alpha^(length - r) / (1 - alpha^length) over r = 1 .. count.
double part_of_first(std::int64_t count, std::int64_t length, double alpha) {
  const auto n = static_cast<double>(count);
  const auto all = static_cast<double>(length);
  if (alpha == 1) {
    return n / all;
  }
  return std::pow(alpha, all - n) * (1 - std::pow(alpha, n)) / (1 - std::pow(alpha, all));
}

std::vector<double> ema(double alpha, std::span<const std::int64_t> iterations) {
  std::map<std::int64_t, std::int64_t> holders;  // number of members by iteration
  for (const std::int64_t iteration : iterations) {
    ++holders[iteration];
  }
  const std::int64_t oldest = holders.begin()->first;
  const std::int64_t length = holders.rbegin()->first - oldest + 1;
  std::map<std::int64_t, double> weight_at;
  for (auto held = holders.begin(); held != holders.end(); ++held) {
    // The weights from this iteration up to the next one that a member holds, shared equally by the
    // members at this iteration.
    const auto next = std::next(held);
    const std::int64_t end = next != holders.end() ? next->first - oldest : length;
    const double part =
        part_of_first(end, length, alpha) - part_of_first(held->first - oldest, length, alpha);
    weight_at[held->first] = part / static_cast<double>(held->second);
  }
  std::vector<double> weights;
  for (const std::int64_t iteration : iterations) {
    weights.push_back(weight_at[iteration]);
  }
  return weights;
}

}  // namespace

std::vector<double> group_weights(Weighting weighting, double alpha,
                                  std::span<const std::int64_t> iterations) {
  MOTLEY_CHECK(alpha > 0 && alpha <= 1, "alpha {}", alpha);
  switch (weighting) {
    case Weighting::kDecay:
      return decay(alpha, iterations);
    case Weighting::kEma:
      return ema(alpha, iterations);
    case Weighting::kConstant:
      break;
  }
  return std::vector<double>(iterations.size(), 1.0 / static_cast<double>(iterations.size()));
}

std::vector<float> float_weights(std::span<const double> weights) {
  std::vector<float> floats(weights.begin(), weights.end());
  const auto heaviest = std::ranges::max_element(floats);
  const double sum = std::accumulate(floats.begin(), floats.end(), 0.0);
  *heaviest = static_cast<float>(static_cast<double>(*heaviest) + 1 - sum);
  return floats;
}

}  // namespace motley
