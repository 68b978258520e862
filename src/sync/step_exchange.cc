#include "sync/step_exchange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <utility>

#include "sync/step_numbers.h"

namespace motley {
namespace {

constexpr double kUnknownLoss = std::numeric_limits<double>::quiet_NaN();

void check(const StepResult& result) {
  const double weight = result.weight.value_or(0);
  if (!std::isfinite(weight) || weight < 0) {
    throw std::logic_error(
        fmt::format("finish() was given the weight {}; expected a number from 0 up", weight));
  }
  if (result.counts.size() > kMostCounts) {
    throw std::logic_error(fmt::format("a step has {} counts; expected at most {}",
                                       result.counts.size(), kMostCounts));
  }
}

}  // namespace

Computed StepExchange::put(StepResult result, std::size_t samples, bool sums_weights) {
  check(result);
  untold_.resize(std::max(untold_.size(), result.counts.size()));
  std::ranges::transform(result.counts, untold_, untold_.begin(), std::plus());
  result.counts = untold_;
  const bool has_no_weight = result.weight && *result.weight <= 0;
  replica_.set_idle(has_no_weight && !sums_weights);
  if (has_no_weight) {  // a mean over nothing is not a number
    replica_.scale_gradient(0);
    result.loss_sum = 0;
  }
  if (result.weight && !sums_weights) {
    divide_by_own_weight(result, samples);
  }
  if (const auto tail = replica_.tail().floats(); !tail.empty()) {
    StepNumbers(tail).put(result, samples > 0);
  }
  return {result.loss_sum, samples};
}

void StepExchange::divide_by_own_weight(StepResult& result, std::size_t samples) {
  const double weight = *std::exchange(result.weight, std::nullopt);
  if (weight > 0) {
    const double factor = static_cast<double>(samples) / weight;
    replica_.scale_gradient(factor);
    result.loss_sum *= factor;
  } else {
    result.loss_sum = kUnknownLoss;
  }
}

void StepExchange::take(Progress& progress, const Computed& computed) {
  if (progress.is_summed) {
    const StepNumbers sums(replica_.tail().floats());
    for (std::size_t place = 0; place < untold_.size(); ++place) {
      progress.counts.push_back(sums.count(place));
    }
    progress.all_have_heard = sums.all_have_heard(workers_);
  } else if (advance_ == Advance::kAtOwnPace) {
    progress.counts = untold_;
  }
  if (!progress.counts.empty()) {
    std::ranges::fill(untold_, 0.0);
  }
  const bool knows_all = progress.is_summed && progress.loss_samples > 0;
  const double sum = knows_all ? progress.loss_sum : computed.loss_sum;
  const auto count = static_cast<double>(knows_all ? progress.loss_samples
                                                   : static_cast<std::int64_t>(computed.samples));
  if (std::isnan(progress.mean_loss) && count > 0) {
    progress.mean_loss = sum / count;
  }
}

}  // namespace motley
