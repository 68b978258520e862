// Sum of a block over a group of workers, weighted if they like; every member ends with the same
// bits. The group of all workers makes it an all-reduce, a smaller one a partial reduce.
//
// Large blocks: ring all-reduce (reduce-scatter, all-gather; Patarasu and Yuan 2009): 2(n-1) rounds
// of 1/n of the block each, so every link carries 2(n-1)/n of the block, which no algorithm beats.
// Small blocks: recursive doubling, about log2(n) rounds of the whole block: fewest messages.
//
// Of phantom blocks among very many workers the ring's time is worked out instead (ring_meeting.h).
//
// A round's chunk travels in segments, so that adding one up overlaps with the next one's journey
// and happens while it is still in the cache.
#pragma once

#include <vector>

#include "motley/node/node.h"
#include "motley/sync/replica.h"

namespace motley {

class RingMeeting;  // sync/ring_meeting.h

// 0 .. size-1: the group of all workers.
std::vector<Rank> all_ranks(int size);

// Part `index` of a block that is cut into `count`. They differ by one float at most.
Block chunk_of(Block block, int index, int count);

class Collective {
 public:
  // Spans of at most this many bytes take the small way.
  static constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
  static constexpr std::size_t kSegmentBytes = std::size_t{256} << 10;

  // `members` is the same list on every member; the node's rank is one of them.
  Collective(Node& node, Channel channel, std::vector<Rank> members);
  // Of all workers. Where there is a meeting, rings of phantom blocks take that way.
  Collective(Node& node, Channel channel, RingMeeting* meeting = nullptr);

  // Blocks until the sum over all members is in `block`, each member's own times its `weight`.
  // Every member calls it, with blocks of the same size. Throws Interrupted when a member is lost.
  void sum(Block block, float weight = 1);

  // Time spent in sum() so far that was waiting for members who came late, as opposed to moving
  // bytes. Of small blocks it is all the time.
  Seconds waited() const { return waited_; }

 private:
  void ring(Block block, float weight);
  void recursive_doubling(Block block);

  // What the numbers that were there count when others come in: 1 adds, 0 copies.
  using Keep = float;
  static constexpr Keep kAll = 1;
  static constexpr Keep kNone = 0;
  // Sends one block and takes another in.
  void exchange(int to, Block out, int from, Block in, Keep keep);
  void send_segment(int to, Block segment);
  // Takes one segment into the beginning of `room`; returns its length.
  std::size_t receive_segment(int from, Block room, Keep keep);
  Block chunk(Block block, int index) const;
  Rank rank_of(int place) const {
    return members_.empty() ? place : members_[static_cast<std::size_t>(place)];
  }

  Node& node_;
  const Channel channel_;
  const std::vector<Rank> members_;  // none: all workers
  const int size_;
  int self_ = 0;  // this node's place among the members
  RingMeeting* const meeting_;

  Seconds waited_ = 0;
};

}  // namespace motley
