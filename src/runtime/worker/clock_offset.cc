#include "runtime/worker/clock_offset.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

std::int64_t clock_offset(std::span<const ClockProbe> probes) {
  MOTLEY_CHECK(!probes.empty(), "no probes");
  std::int64_t least = probes.front().theirs - probes.front().answered;
  std::int64_t most = probes.front().theirs - probes.front().asked;
  for (const ClockProbe& probe : probes.subspan(1)) {
    const std::int64_t from = probe.theirs - probe.answered;
    const std::int64_t to = probe.theirs - probe.asked;
    if (std::max(least, from) <= std::min(most, to)) {
      least = std::max(least, from);
      most = std::min(most, to);
    } else if (to - from < most - least) {
      least = from;  // a clock was set in between: trust the faster answer
      most = to;
    }
  }
  return least <= 0 && most >= 0 ? 0 : least + (most - least) / 2;
}

}  // namespace motley
