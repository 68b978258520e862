// EventQueue: future events, earliest first; events at equal times come out in the order of
// pushing.
//
//   EventQueue<int> queue;
//   queue.push(1.5, 42);
//   auto [at, what] = queue.pop();
//
// A 4-ary heap in one vector: half as deep as a binary heap, and the children of a node are
// adjacent. No allocation once the vector has grown. Ties are broken by a sequence number, never by
// an address, so the order is the same in every run. `What` should be small and trivial.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "motley/base/ids.h"

namespace motley {

template <class What>
class EventQueue {
  static_assert(std::is_trivially_copyable_v<What>);

 public:
  struct Event {
    Seconds at;
    What what;
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  // Of the event that pop() would return; the queue must not be empty.
  Seconds next_at() const { return heap_.front().at; }
  const What& next() const { return heap_.front().what; }

  void push(Seconds at, What what) {
    heap_.push_back({});
    sift_up(heap_.size() - 1, {at, pushed_++, what});
  }

  Event pop() {
    MOTLEY_CHECK(!heap_.empty(), "pop from an empty queue");
    const Entry first = heap_.front();
    const Entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) {
      sift_down(0, last);
    }
    return {first.at, first.what};
  }

  // Removes every event for which unwanted(what) is true. Cost: linear in the size of the queue.
  template <class Predicate>
  void remove_if(Predicate unwanted) {
    std::erase_if(heap_, [&](const Entry& entry) { return unwanted(entry.what); });
    for (std::size_t place = heap_.size(); place-- > 0;) {
      sift_down(place, Entry(heap_[place]));
    }
  }

 private:
  struct Entry {
    Seconds at;
    std::uint64_t sequence;
    What what;
  };
  static constexpr std::size_t kArity = 4;

  static bool before(const Entry& a, const Entry& b) {
    return a.at != b.at ? a.at < b.at : a.sequence < b.sequence;
  }

  // Both move a hole from `place` to where `entry` belongs.
  void sift_up(std::size_t place, const Entry& entry) {
    while (place > 0) {
      const std::size_t parent = (place - 1) / kArity;
      if (!before(entry, heap_[parent])) {
        break;
      }
      heap_[place] = heap_[parent];
      place = parent;
    }
    heap_[place] = entry;
  }

  void sift_down(std::size_t place, const Entry& entry) {
    for (;;) {
      const std::size_t first_child = place * kArity + 1;
      if (first_child >= heap_.size()) {
        break;
      }
      const std::size_t end = std::min(first_child + kArity, heap_.size());
      std::size_t least = first_child;
      for (std::size_t child = first_child + 1; child < end; ++child) {
        if (before(heap_[child], heap_[least])) {
          least = child;
        }
      }
      if (!before(heap_[least], entry)) {
        break;
      }
      heap_[place] = heap_[least];
      place = least;
    }
    heap_[place] = entry;
  }

  std::vector<Entry> heap_;
  std::uint64_t pushed_ = 0;
};

}  // namespace motley
