#include "api/share_result.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>
#include <utility>

namespace motley {

double ShareResult::add(double loss, const FinishOptions& options, std::size_t samples,
                        Reduction reduction) {
  const bool has_weight = options.weight.has_value();
  if (has_weight && reduction != Reduction::kMean) {
    throw std::logic_error(
        "finish() was given a weight, but the loss is a sum (set_reduction): weights are for "
        "losses "
        "that are means");
  }
  if (has_weight && !(std::isfinite(*options.weight) && *options.weight >= 0)) {
    throw std::logic_error(fmt::format(
        "finish() was given the weight {}; expected a number from 0 up", *options.weight));
  }
  if (std::exchange(has_parts_, true) && has_weight != sum_.weight.has_value()) {
    throw std::logic_error(
        "some parts of a share were finished with a weight and others without: give one each time "
        "or never");
  }
  const bool is_mean = reduction == Reduction::kMean;
  const double scale = is_mean ? options.weight.value_or(static_cast<double>(samples)) : 1;
  sum_.loss_sum += scale != 0 ? loss * scale : 0;  // a mean over nothing is not a number
  if (has_weight) {
    sum_.weight = sum_.weight.value_or(0) + scale;
  }
  return scale;
}

StepResult ShareResult::take() {
  has_parts_ = false;
  return std::exchange(sum_, {});
}

}  // namespace motley
