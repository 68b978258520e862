#include "sync/ashl/stage.h"

#include <fmt/format.h>

#include "base/check.h"

namespace motley {

StageSwitch::StageSwitch(std::optional<double> loss_preset, double fraction,
                         std::int64_t memory_samples, std::int64_t confirmations)
    : fraction_(fraction),
      memory_samples_(memory_samples),
      confirmations_(confirmations),
      loss_preset_(loss_preset),
      loss_(memory_samples) {
  MOTLEY_CHECK(memory_samples >= 1 && confirmations >= 1,
               "a memory of {} samples, {} confirmations", memory_samples, confirmations);
  MOTLEY_CHECK(loss_preset || (fraction > 0 && fraction < 1), "{} of the first loss", fraction);
}

void StageSwitch::report(double loss_sum, std::int64_t samples) {
  if (!loss_.report(loss_sum, samples)) {
    return;
  }
  if (!loss_preset_ && 4 * loss_.samples() >= memory_samples_) {
    loss_preset_ = fraction_ * loss();
  }
  in_a_row_ = is_down() ? in_a_row_ + 1 : 0;
  if (!fine_ && in_a_row_ >= confirmations_ && 2 * loss_.samples() >= memory_samples_) {
    switch_now();
  }
}

void StageSwitch::begin() {
  if (!fine_ && is_down()) {
    switch_now();
  }
}

void StageSwitch::switch_now() {
  fine_ = true;
  loss_then_ = loss();
  samples_then_ = loss_.samples();
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

void StageSwitch::state(Archive& archive) {
  archive("loss_preset", loss_preset_);
  archive("loss", loss_);
  archive("in_a_row", in_a_row_);
  archive("fine", fine_);
  archive("loss_then", loss_then_);
  archive("samples_then", samples_then_);
}

}  // namespace motley
