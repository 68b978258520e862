// RingMeeting: simulates a ring all-reduce of a phantom block over all workers in one event per
// worker.
//
// A ring of n workers needs 2n(n-1) messages: hundreds of millions for thousands of workers. If the
// block is a phantom, only the timing of the messages matters, and it can be computed
// (ring_times.h). So the workers of a simulation meet instead of sending messages: each one
// registers when it arrives, the last one computes when each would be done, and each continues at
// that time. No worker can be done before the last has arrived, so none of these times has passed.
//
// The links are left in the state that the messages would have left, including byte counts. The
// result is exact if nothing else is on its way to a worker while it is in the ring. Other messages
// (the last updates of hop at the end of a run) are treated as delivered when the ring begins.
//
// The code that gives a RingMeeting to its workers (runtime/simulate/simulate.cc) provides what it
// needs from the simulator. Without a RingMeeting, a Collective sends messages.
#pragma once

#include <functional>
#include <vector>

#include "cluster/link.h"
#include "motley/node/node.h"
#include "sync/ring_times.h"

namespace motley {

class RingMeeting {
 public:
  // Up to this many workers, a simulation sends messages instead.
  static constexpr int kMostByMessage = 64;

  // What it needs from the simulator.
  struct Ground {
    Seconds latency = 0;
    std::function<Link&(Rank)> link_of;
    // Puts the message into a mailbox at that time without using a link.
    std::function<void(Rank to, Seconds at, Message message)> deliver;
  };
  RingMeeting(int workers, Ground ground);

  // Blocks until the sum of a block of `floats` would be complete. All workers must call it, for
  // the same sums in the same order. Returns how long this worker waited for others.
  Seconds sum(Node& node, Channel channel, std::size_t floats);

 private:
  void release(Channel channel, std::size_t floats);

  const Ground ground_;
  std::vector<RingMember> members_;  // by rank; those that have arrived
  std::size_t come_ = 0;
};

}  // namespace motley
