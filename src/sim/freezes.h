// Freezes: the times in which the clock of a simulated rank stands still. Pure.
#pragma once

#include <algorithm>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

class Freezes {
 public:
  // In order of time.
  void add(Seconds from, Seconds until) { all_.push_back({from, until}); }

  // The first moment from `now` on at which the rank is not frozen.
  Seconds thawed(Seconds now) const {
    for (const Freeze& freeze : all_) {
      now = freeze.from <= now && now < freeze.until ? freeze.until : now;
    }
    return now;
  }

  // When something ends that begins now and takes `duration` without freezes.
  Seconds end_of(Seconds now, Seconds duration) const {
    Seconds end = now + duration;
    for (const Freeze& freeze : all_) {
      if (freeze.from < end && freeze.until > now) {  // the rest of it comes afterwards
        end += freeze.until - std::max(now, freeze.from);
      }
    }
    return end;
  }

 private:
  struct Freeze {
    Seconds from;
    Seconds until;
  };
  std::vector<Freeze> all_;
};

}  // namespace motley
