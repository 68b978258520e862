#include "sync/ring_meeting.h"

#include <bit>
#include <utility>

namespace motley {

RingMeeting::RingMeeting(int workers, Ground ground)
    : ground_(std::move(ground)), members_(static_cast<std::size_t>(workers)) {}

// A worker that is done may enter the next sum while others have not finished this one. Their end
// times are known by then, so one list of members is enough.
Seconds RingMeeting::sum(Node& node, Channel channel, std::size_t floats) {
  const Rank rank = node.rank();
  members_[static_cast<std::size_t>(rank)] = {.at = node.now(), .link = ground_.link_of(rank)};
  if (++come_ == members_.size()) {
    release(channel, floats);
  }
  // From any rank: a lost worker interrupts the others, as it would in the ring.
  return std::bit_cast<Seconds>(node.receive({channel}).header.a);
}

void RingMeeting::release(Channel channel, std::size_t floats) {
  pass_round_ring(members_, floats, ground_.latency);
  come_ = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    const RingMember& member = members_[i];
    ground_.link_of(rank) = member.link;
    ground_.deliver(rank, member.at,
                    {.from = rank,
                     .channel = channel,
                     .header = {.a = std::bit_cast<std::int64_t>(member.waited)},
                     .payload = {}});
  }
}

}  // namespace motley
