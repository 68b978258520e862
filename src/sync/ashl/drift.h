// DriftWatch: detects that a worker's rounds no longer take the planned time. One per worker. Pure.
//
//   if (const Drift drift = watch.round(planned, measured); drift.drifted) { ... make a new plan
//   ... }
//
// ASHL plans once; making new plans is our addition. A single outlier is not a drift: several
// rounds in a row must be too long, or several too short. A long round after a short one is noise,
// which no plan can remove. After reporting a drift, the watch starts again.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

struct Drift {
  bool drifted = false;
  std::string reason;  // one line for users, if drifted
};

class DriftWatch {
 public:
  // `threshold` is a fraction of the planned time; `rounds` is how many in a row are a drift.
  explicit DriftWatch(double threshold = 0.2, std::int64_t rounds = 2)
      : threshold_(threshold), rounds_(rounds) {}

  Drift round(Seconds planned, Seconds measured) {
    const int side = side_of(planned, measured);
    in_a_row_ = side == side_ ? in_a_row_ + 1 : 1;
    side_ = side;
    if (side == 0 || in_a_row_ < rounds_) {
      return {};
    }
    restart();
    return {true, fmt::format("{} rounds in a row off by more than {:.0f} %, the last one {:.3g} s "
                              "instead of {:.3g} s",
                              rounds_, 100 * threshold_, measured, planned)};
  }

  // Call it when there is a new plan.
  void restart() {
    side_ = 0;
    in_a_row_ = 0;
  }

  void state(Archive& archive) {
    archive("side", side_);
    archive("in_a_row", in_a_row_);
  }

 private:
  // 1 if the round was too long, -1 if too short, 0 otherwise or if there is no planned time.
  int side_of(Seconds planned, Seconds measured) const {
    const double off = planned > 0 ? measured / planned - 1 : 0;
    return off > threshold_ ? 1 : off < -threshold_ ? -1 : 0;
  }

  double threshold_;
  std::int64_t rounds_;
  int side_ = 0;  // of the last round
  std::int64_t in_a_row_ = 0;
};

}  // namespace motley
