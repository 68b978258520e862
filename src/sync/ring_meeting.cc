#include "sync/ring_meeting.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace motley {

RingMeeting::RingMeeting(int workers, Ground ground)
    : ground_(std::move(ground)), members_(static_cast<std::size_t>(workers)) {}

Rank RingMeeting::right_of(Rank rank) const {
  return (rank + 1) % static_cast<Rank>(members_.size());
}

// A worker that is done may enter the next sum while others have not finished this one. Their end
// times are known by then, so one list of members is enough.
Seconds RingMeeting::sum(Node& node, Channel channel, std::size_t floats) {
  const Rank rank = node.rank();
  RingMember& member = members_[static_cast<std::size_t>(rank)];
  member.at = node.now();
  if (++come_ == members_.size()) {
    release(channel, floats);
  }
  // From any rank: a lost worker interrupts the others, as it would in the ring.
  const Header result = node.receive({channel}).header;
  if (result.b > 0) {
    ground_.occupy(rank, right_of(rank), static_cast<std::size_t>(result.b));
  }
  return std::bit_cast<Seconds>(result.a);
}

void RingMeeting::release(Channel channel, std::size_t floats) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    members_[i].edge = ground_.edge_of(rank, right_of(rank));
  }
  pass_round_ring(members_, floats);
  come_ = 0;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto rank = static_cast<Rank>(i);
    const RingMember& member = members_[i];
    ground_.count_bytes(rank, member.bytes);
    const Seconds per_byte = member.edge.per_byte();
    const Seconds busy = std::max(0.0, member.free - member.at);
    ground_.deliver(rank, member.at,
                    {.from = rank,
                     .channel = channel,
                     .header = {.a = std::bit_cast<std::int64_t>(member.waited),
                                .b = per_byte > 0 ? std::llround(busy / per_byte) : 0},
                     .payload = {}});
  }
}

}  // namespace motley
