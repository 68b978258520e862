#include "sync/hop/update_queue.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

UpdateQueue::UpdateQueue(std::size_t senders, std::int64_t slots)
    : slots_(static_cast<std::size_t>(slots)), updates_(senders * slots_), last_(senders, kNone) {
  found_.reserve(senders);
}

void UpdateQueue::enqueue(Payload update, std::int64_t iteration, std::size_t sender) {
  MOTLEY_CHECK(iteration > last_[sender], "update {} behind {}", iteration, last_[sender]);
  last_[sender] = iteration;
  if (iteration < oldest_wanted_) {
    ++dropped_;
    return;
  }
  if (iteration <= youngest_wanted_) {
    drop_before(iteration, sender);
  }
  Update& place = slot(iteration, sender);
  drop(place);
  place = {iteration, std::move(update), false};
  ++size_;
  largest_size_ = std::max(largest_size_, size_);
}

std::int64_t UpdateQueue::coming(std::int64_t k, std::int64_t staleness) const {
  return std::ranges::count_if(last_, [&](std::int64_t last) { return last < k - staleness; });
}

std::span<const UpdateQueue::Update* const> UpdateQueue::collect(std::int64_t k,
                                                                 std::int64_t staleness) {
  found_.clear();
  for (std::size_t sender = 0; sender < last_.size(); ++sender) {
    Update* update = youngest(sender, k + staleness);
    if (update && update->iteration >= k - staleness) {
      update->used = true;
      found_.push_back(update);
    }
  }
  return found_;
}

void UpdateQueue::release(std::int64_t k, std::int64_t staleness) {
  oldest_wanted_ = k + 1 - staleness;
  youngest_wanted_ = k + 1 + staleness;
  for (std::size_t sender = 0; sender < last_.size(); ++sender) {
    const Update* update = youngest(sender, youngest_wanted_);
    drop_before(update ? std::max(oldest_wanted_, update->iteration) : oldest_wanted_, sender);
  }
}

UpdateQueue::Update* UpdateQueue::youngest(std::size_t sender, std::int64_t k) {
  Update* youngest = nullptr;
  for (std::size_t i = sender * slots_; i < (sender + 1) * slots_; ++i) {
    Update& update = updates_[i];
    const bool is_candidate = update.iteration != kNone && update.iteration <= k;
    if (is_candidate && (!youngest || update.iteration > youngest->iteration)) {
      youngest = &update;
    }
  }
  return youngest;
}

void UpdateQueue::drop(Update& update) {
  if (update.iteration != kNone) {
    --size_;
    dropped_ += update.used ? 0 : 1;
    update = {};
  }
}

void UpdateQueue::drop_before(std::int64_t iteration, std::size_t sender) {
  for (std::size_t i = sender * slots_; i < (sender + 1) * slots_; ++i) {
    if (updates_[i].iteration < iteration) {
      drop(updates_[i]);
    }
  }
}

}  // namespace motley
