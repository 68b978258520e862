// UpdateQueue: updates that a worker's in-neighbours have sent it, tagged by iteration and sender
// (Luo et al., ASPLOS 2019). Pure: no Node.
//
//   queue.enqueue(update, iteration, sender);
//   while (queue.coming(k, staleness) > backup) { ... receive another one ... }
//   for (const auto& update : queue.collect(k, staleness)) { ... average ... }
//   queue.release(k, staleness);
//
// Rotating slots: the update of iteration t lies in slot t mod `slots` of its sender. Protocol
// bounds (rules.h) see to it that a sender is never so far ahead that it needs a slot whose update
// is still wanted, so all room is there from the beginning (but at the end of a run, when workers
// have left and bounds with them: then the older update is lost). What comes too late for any
// average is dropped, and so is an update when a younger one of its sender has taken its place.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "node/payload.h"

namespace motley {

class UpdateQueue {
 public:
  struct Update {
    std::int64_t iteration = kNone;
    Payload model;
    bool used = false;  // in an average
  };

  // Senders are counted from 0.
  UpdateQueue(std::size_t senders, std::int64_t slots);

  // A sender's updates come in the order of their iterations, with gaps where it skipped some.
  void enqueue(Payload update, std::int64_t iteration, std::size_t sender);
  // No more will come of this sender.
  void leave(std::size_t sender) { last_[sender] = kLeft; }

  // How many senders may still send an update for iteration k, or one that is `staleness` older at
  // most, and have not. Who skipped that iteration or left is not waited for.
  std::int64_t coming(std::int64_t k, std::int64_t staleness) const;
  // The youngest such update of every sender that has one; it may be as many iterations younger
  // than k as it may be older, and is wanted the same way later. Valid until the queue changes.
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

  Update& slot(std::int64_t iteration, std::size_t sender) {
    return updates_[sender * slots_ + static_cast<std::size_t>(iteration) % slots_];
  }
  // Of a sender's updates for iteration k or older ones; nullptr: there is none.
  Update* youngest(std::size_t sender, std::int64_t k);
  void drop(Update& update);
  void drop_before(std::int64_t iteration, std::size_t sender);

  const std::size_t slots_;
  std::vector<Update> updates_;       // slot after slot, sender after sender
  std::vector<std::int64_t> last_;    // iteration that each sender has sent last
  std::int64_t youngest_wanted_ = 0;  // now: older ones of its sender make way for it
  std::int64_t oldest_wanted_ = 0;    // what is older comes too late
  std::vector<const Update*> found_;  // room for what collect() gives
  std::size_t size_ = 0;
  std::size_t largest_size_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace motley
