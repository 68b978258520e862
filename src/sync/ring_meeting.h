// RingMeeting: simulates a ring all-reduce of a phantom block over all workers in one event per
// worker.
//
// A ring of n workers needs 2n(n-1) messages: hundreds of millions for thousands of workers. If the
// block is a phantom, only the timing of the messages matters, and it can be computed
// (ring_times.h). So the workers of a simulation meet instead of sending messages: each one
// registers when it arrives, the last one computes when each would be done, and each continues at
// that time. No worker can be done before the last has arrived, so none of these times has passed.
//
// Byte counts are those of the messages, and a connection whose last chunk has not left when its
// worker is done stays busy until then. The result is exact if nothing else crosses the links while
// the ring does. Links are those at the time at which the last worker arrives.
//
// The code that gives a RingMeeting to its workers (runtime/simulate/simulate.cc) provides what it
// needs from the simulator. Without a RingMeeting, a Collective sends messages.
#pragma once

#include <functional>
#include <vector>

#include "motley/node/node.h"
#include "sync/ring_times.h"

namespace motley {

class RingMeeting {
 public:
  // Up to this many workers, a simulation sends messages instead.
  static constexpr int kMostByMessage = 64;

  // What it needs from the simulator.
  struct Ground {
    // The way from a worker to the next one.
    std::function<RingEdge(Rank from, Rank to)> edge_of;
    // Puts the message into a mailbox at that time without using a link.
    std::function<void(Rank to, Seconds at, Message message)> deliver;
    // Keeps a connection busy from now on, as a message of so many bytes would.
    std::function<void(Rank from, Rank to, std::size_t bytes)> occupy;
    // Counts bytes as sent.
    std::function<void(Rank from, std::size_t bytes)> count_bytes;
  };
  RingMeeting(int workers, Ground ground);

  // Blocks until the sum of a block of `floats` would be complete. All workers must call it, for
  // the same sums in the same order. Returns how long this worker waited for others.
  Seconds sum(Node& node, Channel channel, std::size_t floats);

 private:
  Rank right_of(Rank rank) const;
  void release(Channel channel, std::size_t floats);

  const Ground ground_;
  std::vector<RingMember> members_;  // by rank; those that have arrived
  std::size_t come_ = 0;
};

}  // namespace motley
