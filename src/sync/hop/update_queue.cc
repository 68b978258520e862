#include "sync/hop/update_queue.h"

#include <algorithm>

#include "base/check.h"

namespace motley {

UpdateQueue::UpdateQueue(std::size_t senders, std::int64_t slots) : lanes_(senders) {
  for (Lane& lane : lanes_) {
    lane.slots.resize(static_cast<std::size_t>(slots));
  }
  found_.reserve(senders);
}

void UpdateQueue::enqueue(Payload update, std::int64_t iteration, std::size_t sender) {
  Lane& lane = lanes_[sender];
  MOTLEY_CHECK(iteration > lane.last, "update {} after update {}", iteration, lane.last);
  lane.last = iteration;
  if (iteration < oldest_wanted_) {
    ++dropped_;
    return;
  }
  if (iteration <= youngest_wanted_) {
    drop_before(lane, iteration);
  }
  if (lane.count == lane.slots.size()) {
    drop_oldest(lane);
  }
  lane.at(lane.count++) = {iteration, std::move(update), false};
  ++size_;
  largest_size_ = std::max(largest_size_, size_);
}

std::int64_t UpdateQueue::coming(std::int64_t k, std::int64_t staleness) const {
  return std::ranges::count_if(lanes_, [&](const Lane& lane) { return lane.last < k - staleness; });
}

std::span<const UpdateQueue::Update* const> UpdateQueue::collect(std::int64_t k,
                                                                 std::int64_t staleness) {
  found_.clear();
  for (Lane& lane : lanes_) {
    Update* update = lane.youngest(k + staleness);
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
  for (Lane& lane : lanes_) {
    const Update* update = lane.youngest(youngest_wanted_);
    drop_before(lane, update ? std::max(oldest_wanted_, update->iteration) : oldest_wanted_);
  }
}

UpdateQueue::Update* UpdateQueue::Lane::youngest(std::int64_t k) {
  for (std::size_t i = count; i > 0; --i) {
    if (at(i - 1).iteration <= k) {
      return &at(i - 1);
    }
  }
  return nullptr;
}

void UpdateQueue::drop_oldest(Lane& lane) {
  Update& oldest = lane.at(0);
  dropped_ += oldest.used ? 0 : 1;
  oldest = {};
  lane.first = (lane.first + 1) % lane.slots.size();
  --lane.count;
  --size_;
}

void UpdateQueue::drop_before(Lane& lane, std::int64_t iteration) {
  while (lane.count > 0 && lane.at(0).iteration < iteration) {
    drop_oldest(lane);
  }
}

}  // namespace motley
