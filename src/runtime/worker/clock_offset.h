// How far another machine's clock is ahead of one's own, found by asking for the time: values in,
// decision out (as NTP does it).
//
// The other one looked at its clock some time between question and answer, so every answer leaves
// an interval in which the offset lies. All intervals together leave a shorter one, and the middle
// of it is right to half its length.
#pragma once

#include <cstdint>
#include <span>

namespace motley {

// Nanoseconds. `asked` and `answered` are by one's own clock, `theirs` is by the other one.
struct ClockProbe {
  std::int64_t asked = 0;
  std::int64_t theirs = 0;
  std::int64_t answered = 0;
};

// What has to be added to one's own clock to read the other one. 0 when the two cannot be told
// apart: processes of one machine have one clock. At least one probe.
std::int64_t clock_offset(std::span<const ClockProbe> probes);

}  // namespace motley
