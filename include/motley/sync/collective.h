// Collective: the sum of a block over a group of workers, with optional weights. Every member gets
// the same bits. Over all workers it is an all-reduce, over fewer a partial reduce.
//
// Large blocks use a ring all-reduce (reduce-scatter, then all-gather; Patarasu and Yuan 2009).
// Cost: 2(n-1) rounds of 1/n of the block; each link carries 2(n-1)/n of the block, which is
// optimal.
// Small blocks use recursive doubling. Cost: about log2(n) rounds of the whole block; few messages.
//
// For phantom blocks among very many workers, the ring's timing is computed instead
// (ring_meeting.h).
//
// The chunk of a round is sent in segments, so that adding one segment overlaps with receiving the
// next and happens while it is in the cache.
#pragma once

#include <vector>

#include "motley/node/node.h"
#include "motley/sync/replica.h"

namespace motley {

class RingMeeting;  // sync/ring_meeting.h

// 0 .. size-1: the group of all workers.
std::vector<Rank> all_ranks(int size);

// Part `index` of a block cut into `count` parts, whose sizes differ by at most one float.
Block chunk_of(Block block, int index, int count);

// Undo: what a sum in place has overwritten, so that it can be taken back if it is cut off.
//
//   undo.begin(scratch);              // memory that is free meanwhile, for example the gradient
//   collective.sum(block, weight, &undo);
//   undo.forget();                    // the sum is there; instead of it: undo.take_back();
//
// Cost: one more write of the block. Not for blocks that can be computed again.
class Undo {
 public:
  // Forgets everything. Without enough `room` it has memory of its own.
  void begin(Block room = {});
  // Saves these numbers, which are about to change.
  void keep(Block numbers);
  // Puts everything back that was saved since begin().
  void take_back();
  void forget() { kept_.clear(); }

 private:
  struct Kept {
    Block where;
    const float* numbers;
  };

  Block room_;  // what is left of it
  std::vector<std::vector<float>> more_;
  std::vector<Kept> kept_;
};

class Collective {
 public:
  // Blocks of at most this many bytes use recursive doubling.
  static constexpr std::size_t kSmallBytes = std::size_t{64} << 10;
  static constexpr std::size_t kSegmentBytes = std::size_t{256} << 10;

  // `members` must be the same list on every member and contain this node's rank.
  Collective(Node& node, Channel channel, std::vector<Rank> members);
  // The group of all workers. If there is a meeting, rings over phantom blocks use it.
  Collective(Node& node, Channel channel, RingMeeting* meeting = nullptr);

  // Blocks until `block` holds the sum over all members, each multiplied by its `weight`. Every
  // member must call it with a block of the same size. Throws Interrupted if a member is lost: the
  // block is then overwritten in part; `undo`, if given, can take that back.
  void sum(Block block, float weight = 1, Undo* undo = nullptr);

  // Time in sum() spent waiting for late members rather than moving bytes. For small blocks all of
  // the time counts as waiting.
  Seconds waited() const { return waited_; }

 private:
  void save(Block numbers);
  void weigh_first(Block own, float weight);
  void ring(Block block, float weight);
  void recursive_doubling(Block block);

  // Factor applied to the existing numbers when new ones arrive: 1 adds, 0 overwrites.
  using Keep = float;
  static constexpr Keep kAll = 1;
  static constexpr Keep kNone = 0;
  // Sends one block while receiving another.
  void exchange(int to, Block out, int from, Block in, Keep keep);
  void send_segment(int to, Block segment);
  // Receives one segment into the beginning of `room`; returns its length.
  std::size_t receive_segment(int from, Block room, Keep keep);
  Block chunk(Block block, int index) const;
  Rank rank_of(int place) const {
    return members_.empty() ? place : members_[static_cast<std::size_t>(place)];
  }

  Node& node_;
  const Channel channel_;
  const std::vector<Rank> members_;  // empty: all workers
  const int size_;
  int self_ = 0;  // this node's place among the members
  RingMeeting* const meeting_;
  Undo* undo_ = nullptr;  // of the current sum; may be null

  Seconds waited_ = 0;
};

}  // namespace motley
