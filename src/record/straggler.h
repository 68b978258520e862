// Who keeps the others waiting, and why: values in, decision and reason out.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// What one worker did of late.
struct WorkerPace {
  Rank rank = 0;
  double steps = 0;
  double samples = 0;
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;
  // Of what somebody waited for, from or to it: how long it was on its way, and how much it was.
  Seconds transit = 0;
  double bytes = 0;

  Seconds seconds() const { return compute + communicate + wait; }
};

struct Straggler {
  Rank rank = 0;
  std::string reason;
};

// The worker that waits least while others wait; none when hardly anybody waits, or when all do as
// much. The reason is what takes it longer than the median of all, or, where most are as slow, than
// who waits most: a sample, its larger share, or moving bytes.
//
// Where all wait alike, as in a ring over one slow link, it is the worker whose bytes are longest
// on their way, if that takes much of the time.
std::optional<Straggler> find_straggler(std::span<const WorkerPace> workers);

}  // namespace motley
