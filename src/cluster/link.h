// Link: a machine's connection to the network, and when a message will have crossed it. Pure.
//
// The model is LogGP (Alexandrov et al., 1995), with a link on either side instead of a gap. Each
// machine has an uplink and a downlink with a bandwidth; both serialise their messages. A message
// of B bytes from i to j
//   - occupies i's uplink as soon as that is free, for B / bandwidth_i;
//   - reaches j with its first byte one latency after it started. There it occupies j's downlink as
//     soon as that is free, for B / bandwidth_j. It crosses both links at once, as packets do; it
//     is not stored in between;
//   - is complete when the downlink is done with it, but not before its last byte has arrived.
// So a sender slower than the receiver leaves the rest of the downlink to others.
//
// A downlink serves messages in the order in which their first bytes arrive, not in the order of
// sending. Hence two calls:
//
//   Crossing crossing = sender.depart(bytes, now, latency);  // at the time of sending
//   Seconds complete = receiver.arrive(bytes, crossing);     // at time crossing.head
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "motley/base/ids.h"

namespace motley {

// A message between two links.
struct Crossing {
  Seconds left = 0;  // when its last byte leaves the uplink
  Seconds head = 0;  // when its first byte reaches the downlink
  Seconds tail = 0;  // when its last byte does, if the downlink is free
};

struct Link {
  Seconds per_byte = 0;  // 0: unlimited
  Seconds uplink_free = 0;
  Seconds downlink_free = 0;
  std::uint64_t bytes_sent = 0;

  Crossing depart(std::size_t bytes, Seconds now, Seconds latency) {
    const Seconds start = std::max(now, uplink_free);
    uplink_free = start + static_cast<double>(bytes) * per_byte;
    bytes_sent += bytes;
    return {.left = uplink_free, .head = start + latency, .tail = uplink_free + latency};
  }

  // Call in order of crossing.head.
  Seconds arrive(std::size_t bytes, const Crossing& crossing) {
    const Seconds start = std::max(crossing.head, downlink_free);
    downlink_free = start + static_cast<double>(bytes) * per_byte;
    return std::max(downlink_free, crossing.tail);
  }
};

}  // namespace motley
