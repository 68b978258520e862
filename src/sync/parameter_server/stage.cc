#include "sync/parameter_server/stage.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "base/check.h"

namespace motley {

StageSwitch::StageSwitch(std::optional<double> loss_preset, double fraction,
                         std::int64_t memory_samples, std::int64_t confirmations)
    : fraction_(fraction),
      memory_samples_(memory_samples),
      confirmations_(confirmations),
      loss_preset_(loss_preset) {
  MOTLEY_CHECK(memory_samples >= 1 && confirmations >= 1,
               "a memory of {} samples, {} confirmations", memory_samples, confirmations);
  MOTLEY_CHECK(loss_preset || (fraction > 0 && fraction < 1), "{} of the first loss", fraction);
}

void StageSwitch::report(double loss_sum, std::int64_t samples) {
  if (samples <= 0 || !std::isfinite(loss_sum)) {
    return;
  }
  const auto count = static_cast<double>(samples);
  const double kept = std::exp(-count / static_cast<double>(memory_samples_));
  const double fresh = -std::expm1(-count / static_cast<double>(memory_samples_));  // 1 - kept
  weighted_ = kept * weighted_ + fresh * (loss_sum / count);
  weight_ = kept * weight_ + fresh;
  samples_ += samples;

  if (!loss_preset_ && 4 * samples_ >= memory_samples_) {
    loss_preset_ = fraction_ * loss();
  }
  in_a_row_ = loss_preset_ && loss() <= *loss_preset_ ? in_a_row_ + 1 : 0;
  if (!fine_ && in_a_row_ >= confirmations_ && 2 * samples_ >= memory_samples_) {
    fine_ = true;
    loss_then_ = loss();
    samples_then_ = samples_;
  }
}

double StageSwitch::loss() const {
  return weight_ > 0 ? weighted_ / weight_ : std::numeric_limits<double>::infinity();
}

std::string StageSwitch::reason() const {
  if (fine_) {
    return fmt::format("fine: loss {:.4g} reached {:.4g} after {} samples", loss_then_,
                       *loss_preset_, samples_then_);
  }
  if (!loss_preset_) {
    return "coarse: the loss is not known yet";
  }
  return fmt::format("coarse: loss {:.4g}, fine from {:.4g} on", loss(), *loss_preset_);
}

}  // namespace motley
