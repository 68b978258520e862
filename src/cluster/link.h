// Link: a machine's connection to the network, and when what crosses it will be through. Pure.
//
// The model is LogGP's (Alexandrov et al., 1995), with a link on either side instead of a gap. Each
// machine has an uplink and a downlink of some bandwidth, and both serialise what crosses them. A
// message of B bytes from i to j
//   - takes i's uplink as soon as that is free, for B / bandwidth_i;
//   - its head is at j one latency after it started: there it takes j's downlink as soon as that is
//     free, for B / bandwidth_j (and crosses both links at once, as packets do, rather than being
//     stored in between);
//   - it is complete when the downlink is through with it, and not before its last byte is there.
// A sender slower than the receiver thus leaves the rest of the downlink to others.
//
// A downlink serves heads in the order in which they arrive, whoever sent first. Hence two calls:
//
//   Crossing crossing = sender.depart(bytes, now, latency);  // when the sender sends
//   Seconds complete = receiver.arrive(bytes, crossing);     // at the moment crossing.head
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "motley/base/ids.h"

namespace motley {

// A message between two links.
struct Crossing {
  Seconds left = 0;  // its last byte left the uplink
  Seconds head = 0;  // its first byte reaches the downlink
  Seconds tail = 0;  // its last byte does, if that is free
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

  // To be called in order of crossing.head.
  Seconds arrive(std::size_t bytes, const Crossing& crossing) {
    const Seconds start = std::max(crossing.head, downlink_free);
    downlink_free = start + static_cast<double>(bytes) * per_byte;
    return std::max(downlink_free, crossing.tail);
  }
};

}  // namespace motley
