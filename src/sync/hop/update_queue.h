// UpdateQueue: the updates received from a worker's in-neighbours, tagged by iteration and sender
// (Luo et al., ASPLOS 2019). Pure: no Node.
//
//   queue.enqueue(update, iteration, sender);
//   while (queue.coming(k, staleness) > backup) { ... receive another update ... }
//   for (const auto& update : queue.collect(k, staleness)) { ... average ... }
//   queue.release(k, staleness);
//
// Every sender has a ring buffer with the same number of slots. Its updates arrive in the order of
// their iterations. All slots are allocated at the beginning: the bounds of the protocol (rules.h)
// ensure that a sender is never so far ahead that it needs a slot whose update is still wanted. (At
// the end of a run workers have left and the bounds no longer hold; the oldest update is then
// dropped.) An update is also dropped if it arrives too late for any average, or if a newer one of
// the same sender can replace it.
//
// Cost: depends only on the number of updates in the queue, not on the number of slots.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "motley/node/payload.h"

namespace motley {

class UpdateQueue {
 public:
  struct Update {
    std::int64_t iteration = 0;
    Payload model;
    bool used = false;  // in an average
  };

  // Senders are numbered from 0.
  UpdateQueue(std::size_t senders, std::int64_t slots);

  // A sender's updates must come in the order of their iterations; skipped ones are allowed.
  void enqueue(Payload update, std::int64_t iteration, std::size_t sender);
  // No more updates will come from this sender.
  void leave(std::size_t sender) { lanes_[sender].last = kLeft; }

  // How many senders have not sent an update for iteration k, or one at most `staleness` iterations
  // older, but still may. Senders that have left or skipped these iterations do not count.
  std::int64_t coming(std::int64_t k, std::int64_t staleness) const;
  // The newest update of each sender that is at most `staleness` iterations older or newer than k,
  // if there is one. Valid until the queue changes.
  std::span<const Update* const> collect(std::int64_t k, std::int64_t staleness);
  // Iteration k is over: drops the updates that the next one cannot use.
  void release(std::int64_t k, std::int64_t staleness);

  std::size_t size() const { return size_; }
  std::size_t largest_size() const { return largest_size_; }
  // Updates that no average used.
  std::int64_t dropped() const { return dropped_; }

 private:
  static constexpr std::int64_t kNone = -1;
  static constexpr std::int64_t kLeft = INT64_MAX;

  // One sender's updates, oldest first, in a circle of slots.
  struct Lane {
    std::vector<Update> slots;
    std::size_t first = 0;
    std::size_t count = 0;
    std::int64_t last = kNone;  // iteration of the last update received

    Update& at(std::size_t i) { return slots[(first + i) % slots.size()]; }
    // The newest update of iteration k or older; nullptr if there is none.
    Update* youngest(std::int64_t k);
  };

  void drop_oldest(Lane& lane);
  void drop_before(Lane& lane, std::int64_t iteration);

  std::vector<Lane> lanes_;           // by sender
  std::int64_t oldest_wanted_ = 0;    // older updates come too late
  std::int64_t youngest_wanted_ = 0;  // updates up to this one replace older ones of the sender
  std::vector<const Update*> found_;  // the result of collect()
  std::size_t size_ = 0;
  std::size_t largest_size_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace motley
