// The messages between neighbours, on kHopChannel, and a worker's counters for the summary.
#pragma once

#include <array>
#include <cstdint>

#include "motley/node/message.h"

namespace motley {

inline constexpr Channel kHopChannel = method_channel(0);

enum class HopKind : std::int64_t {
  kUpdate,  // to out-neighbours: the model at the beginning of an iteration
  kToken,   // to in-neighbours: tokens, at the beginning of an iteration
  kAck,     // to in-neighbours: their updates of an iteration were used (notify_ack)
  kLeave,   // to all neighbours: this worker has done its part
};

struct HopNews {
  HopKind kind = HopKind::kUpdate;
  std::int64_t iteration = 0;
  std::int64_t tokens = 0;

  Header header() const { return {iteration, static_cast<std::int64_t>(kind), tokens}; }
  static HopNews of(const Header& header) {
    return {static_cast<HopKind>(header.a), header.tag, header.b};
  }
};

// The counters that a worker sends in its farewell (motley/sync/sample_client.h), by index.
enum HopCount : std::size_t {
  kLargestUpdateQueue,  // most updates in the queue
  kLargestTokenQueue,
  kUpdatesDropped,
  kJumps,
  kJumpsCutShort,  // by max_jump
  kIterationsSkipped,
  kHopCounts,
};
using HopCounts = std::array<std::int64_t, kHopCounts>;

}  // namespace motley
