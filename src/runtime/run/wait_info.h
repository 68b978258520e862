// WaitInfo: what a process reports while none of its activities can continue before a message
// arrives. Sent as plain bytes.
//
// When all processes wait and every message that was sent has arrived, nothing can happen any more:
// the run is in a deadlock (runtime/coordinator/deadlock_watch.h).
#pragma once

#include <cstdint>

#include "motley/node/message.h"

namespace motley {

// Messages so far, without those of Channel::kControl.
struct MessageCounts {
  std::uint64_t sent = 0;
  std::uint64_t arrived = 0;  // in the mailbox; they need not have been received yet

  friend bool operator==(const MessageCounts&, const MessageCounts&) = default;
};

struct WaitInfo {
  MessageCounts counts;
  Match match{Channel::kControl};  // what the first of its activities waits for
};

}  // namespace motley
