// DriftWatch: do a worker's rounds still take as long as its plan says? One per worker. Pure.
//
//   if (const Drift drift = watch.round(planned, measured); drift.drifted) { ... plan anew ... }
//
// ASHL plans once; planning anew is our addition. One hiccup is no reason for it: rounds in a row
// must be too long, or too short. A long one after a short one is noise, for which no plan is
// better. Having told of a drift, the watch begins anew.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "motley/base/ids.h"

namespace motley {

struct Drift {
  bool drifted = false;
  std::string reason;  // one line for a person, when it has
};

class DriftWatch {
 public:
  // Of the planned time; rounds in a row.
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

  // There is a new plan.
  void restart() {
    side_ = 0;
    in_a_row_ = 0;
  }

 private:
  // Of the plan: 1 too long, -1 too short. Nothing is held against a plan of no time.
  int side_of(Seconds planned, Seconds measured) const {
    const double off = planned > 0 ? measured / planned - 1 : 0;
    return off > threshold_ ? 1 : off < -threshold_ ? -1 : 0;
  }

  double threshold_;
  std::int64_t rounds_;
  int side_ = 0;  // that the last round was on
  std::int64_t in_a_row_ = 0;
};

}  // namespace motley
