// Staleness: whether figures of a run are still news. After some seconds without progress, and
// after a few times as long as progress usually takes to come, they are not. Pure: time is passed
// in.
#pragma once

#include <algorithm>
#include <optional>

#include "motley/base/ids.h"

namespace motley {

class Staleness {
 public:
  static constexpr Seconds kLeast = 10;
  static constexpr double kUsualGaps = 4;

  void begin(Seconds now) { latest_ = now; }
  // Something new came.
  void on_progress(Seconds now) {
    if (latest_) {
      // A stall that is over does not make the next one usual.
      const Seconds gap = std::min(now - *latest_, patience());
      usual_gap_ = std::max(gap, kForgetting * usual_gap_);
    }
    latest_ = now;
  }
  // How long nothing new has come, if that is too long.
  std::optional<Seconds> at(Seconds now) const {
    const bool stale = latest_ && now - *latest_ >= patience();
    return stale ? std::optional(now - *latest_) : std::nullopt;
  }

 private:
  static constexpr double kForgetting = 0.9;

  Seconds patience() const { return std::max(kLeast, kUsualGaps * usual_gap_); }

  std::optional<Seconds> latest_;  // unset before the run begins
  Seconds usual_gap_ = 0;
};

}  // namespace motley
