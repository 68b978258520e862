// Finds the worker that keeps the others waiting, and says why. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "motley/base/ids.h"

namespace motley {

// What one worker did recently.
struct WorkerPace {
  Rank rank = 0;
  double steps = 0;
  double samples = 0;
  Seconds compute = 0;
  Seconds communicate = 0;
  Seconds wait = 0;
  // Messages from or to it that somebody waited for: their time in transit and their size.
  Seconds transit = 0;
  double bytes = 0;

  Seconds seconds() const { return compute + communicate + wait; }
};

struct Straggler {
  Rank rank = 0;
  std::string reason;
};

// The worker that waits least while others wait; nullopt if hardly any worker waits or all wait
// equally. The reason says what takes it longer than the median worker (or, if most are equally
// slow, than the one that waits most): a sample, a larger share, or moving bytes. Whoever has come
// only lately is not judged.
//
// If all wait equally, as in a ring over one slow link, it is the worker whose messages are longest
// in transit, provided that this takes much of the time.
std::optional<Straggler> find_straggler(std::span<const WorkerPace> workers);

}  // namespace motley
