// UpdateQueue: updates that a worker's in-neighbours have sent it, tagged by iteration and sender
// (Luo et al., ASPLOS 2019). Pure: no Node.
//
//   queue.enqueue(update, iteration, sender);
//   while (queue.coming(k, staleness) > backup) { ... receive another one ... }
//   for (const auto& update : queue.collect(k, staleness)) { ... average ... }
//   queue.release(k, staleness);
//
// Rotating slots, as many for every sender: its updates come in the order of their iterations, take
// the next slot and leave from the other end. Protocol bounds (rules.h) see to it that a sender is
// never so far ahead that it needs a slot whose update is still wanted, so all room is there from
// the beginning (but at the end of a run, when workers have left and bounds with them: then the
// oldest is lost). What comes too late for any average is dropped, and so is an update when a
// younger one of its sender can take its place.
//
// Cost: nothing depends on the number of slots, only on how many are taken.
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

  // Senders are counted from 0.
  UpdateQueue(std::size_t senders, std::int64_t slots);

  // A sender's updates come in the order of their iterations, with gaps where it skipped some.
  void enqueue(Payload update, std::int64_t iteration, std::size_t sender);
  // No more will come of this sender.
  void leave(std::size_t sender) { lanes_[sender].last = kLeft; }

  // How many senders may still send an update for iteration k, or one that is `staleness` older at
  // most, and have not. Who skipped that iteration or left is not waited for.
  std::int64_t coming(std::int64_t k, std::int64_t staleness) const;
  // The youngest such update of every sender that has one; it may be as many iterations younger
  // than k as it may be older. Valid until the queue changes.
  std::span<const Update* const> collect(std::int64_t k, std::int64_t staleness);
  // Iteration k is over: drops what the next one cannot use.
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
    std::int64_t last = kNone;  // iteration that it has sent last

    Update& at(std::size_t i) { return slots[(first + i) % slots.size()]; }
    // For iteration k or older ones; nullptr: there is none.
    Update* youngest(std::int64_t k);
  };

  void drop_oldest(Lane& lane);
  void drop_before(Lane& lane, std::int64_t iteration);

  std::vector<Lane> lanes_;           // by sender
  std::int64_t oldest_wanted_ = 0;    // what is older comes too late
  std::int64_t youngest_wanted_ = 0;  // now: older ones of its sender make way for it
  std::vector<const Update*> found_;  // room for what collect() gives
  std::size_t size_ = 0;
  std::size_t largest_size_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace motley
