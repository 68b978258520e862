// Estimates how far another machine's clock is ahead of this one's, as NTP does. Pure.
//
// The other side read its clock at some time between question and answer, so every answer gives an
// interval that contains the offset. The intersection of all intervals is shorter; its middle is
// accurate to half its length.
#pragma once

#include <cstdint>
#include <span>

namespace motley {

// In nanoseconds. `asked` and `answered` are on this clock, `theirs` is on the other.
struct ClockProbe {
  std::int64_t asked = 0;
  std::int64_t theirs = 0;
  std::int64_t answered = 0;
};

// What to add to this clock to get the other one. 0 if no difference can be detected: processes of
// one machine share a clock. Needs at least one probe.
std::int64_t clock_offset(std::span<const ClockProbe> probes);

}  // namespace motley
