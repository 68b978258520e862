// RingMeeting: a ring all-reduce of all workers of a simulation, of a phantom block, in one event.
//
// A ring of n workers is 2n(n-1) messages: of thousands of workers, hundreds of millions. Where the
// block is a size without numbers, nothing is in the messages but their time, which can be worked
// out (ring_times.h). So the workers of a simulation meet instead of sending: each says that it has
// come; the last one works out when each would be done, and each goes on at its moment. Nobody can
// be done before the last has come, so no moment has passed by then.
//
// What is left in the links, bytes and all, is what the messages would have left. It is exact when
// nothing else is on its way to a worker while it is in the ring. What is (the last updates of hop
// at the end of a run) is taken to be through when the ring begins.
//
// Who hands a RingMeeting to its workers (runtime/simulate/simulate.cc) says what the simulator
// must do for it; without one, a Collective sends messages.
#pragma once

#include <functional>
#include <vector>

#include "cluster/link.h"
#include "motley/node/node.h"
#include "sync/ring_times.h"

namespace motley {

class RingMeeting {
 public:
  // Up to so many workers a simulation goes message by message.
  static constexpr int kMostByMessage = 64;

  // What the simulator does for it.
  struct Ground {
    Seconds latency = 0;
    std::function<Link&(Rank)> link_of;
    // The message is there at that moment, and crosses no link.
    std::function<void(Rank to, Seconds at, Message message)> deliver;
  };
  RingMeeting(int workers, Ground ground);

  // Blocks until the sum of a block of so many floats would be there. All workers call it, in the
  // same order of sums. Returns how long this one waited for others.
  Seconds sum(Node& node, Channel channel, std::size_t floats);

 private:
  void release(Channel channel, std::size_t floats);

  const Ground ground_;
  std::vector<RingMember> members_;  // by rank; of those who have come
  std::size_t come_ = 0;
};

}  // namespace motley
