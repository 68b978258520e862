#include "sync/step_numbers.h"

#include <algorithm>
#include <stdexcept>

namespace motley {
void StepNumbers::put(const StepResult& result, bool has_samples) {
  std::ranges::fill(tail_.subspan(Replica::kMethodTail), 0.0F);
  tail_[kWeighted] = has_samples && result.weight ? 1.0F : 0.0F;
  tail_[kUnweighted] = has_samples && !result.weight ? 1.0F : 0.0F;
  tail_[kHeard] = result.has_heard ? 1.0F : 0.0F;
  put_double(kWeight, has_samples ? result.weight.value_or(0) : 0);
  for (std::size_t place = 0; place < result.counts.size(); ++place) {
    put_double(kCounts + 2 * place, result.counts[place]);
  }
}

void StepNumbers::put_double(std::size_t slot, double value) {
  const auto [coarse, fine] = two_floats(value);
  tail_[slot] = coarse;
  tail_[slot + 1] = fine;
}

std::optional<double> StepNumbers::weight() const {
  if (tail_[kWeighted] == 0) {
    return std::nullopt;
  }
  if (tail_[kUnweighted] > 0) {
    throw std::logic_error(
        "some ranks gave finish() a weight in this step and others did not: give one on every rank "
        "or on none");
  }
  return double_at(kWeight);
}

}  // namespace motley
