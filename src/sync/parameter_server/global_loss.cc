#include "sync/parameter_server/global_loss.h"

#include <cmath>
#include <limits>

#include "base/check.h"

namespace motley {

GlobalLoss::GlobalLoss(std::int64_t memory) : memory_(static_cast<double>(memory)) {
  MOTLEY_CHECK(memory >= 1, "a memory of {} samples", memory);
}

bool GlobalLoss::report(double loss_sum, std::int64_t samples) {
  if (samples <= 0 || !std::isfinite(loss_sum)) {
    return false;
  }
  const auto count = static_cast<double>(samples);
  const double kept = std::exp(-count / memory_);
  const double fresh = -std::expm1(-count / memory_);  // 1 - kept
  weighted_ = kept * weighted_ + fresh * (loss_sum / count);
  weight_ = kept * weight_ + fresh;
  samples_ += samples;
  return true;
}

double GlobalLoss::mean() const {
  return weight_ > 0 ? weighted_ / weight_ : std::numeric_limits<double>::infinity();
}

}  // namespace motley
