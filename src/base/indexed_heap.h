// IndexedHeap: keys of small integers (ids), the least first. A key can be changed or erased.
//
//   IndexedHeap<double> heap;
//   heap.set(7, 1.5);
//   heap.set(7, 0.5);                          // changes it
//   const auto id = heap.first();              // 7
//
// Ids index a vector, so they should be dense. Cost: set and erase are logarithmic in the number of
// keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace motley {

template <class Key>
class IndexedHeap {
 public:
  using Id = std::uint32_t;

  bool empty() const { return heap_.empty(); }
  Id first() const { return heap_.front().id; }
  const Key& first_key() const { return heap_.front().key; }

  void set(Id id, const Key& key) {
    if (id >= place_.size()) {
      place_.resize(id + 1, kNowhere);
    }
    if (place_[id] == kNowhere) {
      heap_.push_back({key, id});
      rise(heap_.size() - 1, {key, id});
      return;
    }
    move(place_[id], {key, id});
  }

  // Does nothing if the id has no key.
  void erase(Id id) {
    if (id >= place_.size() || place_[id] == kNowhere) {
      return;
    }
    const std::size_t hole = place_[id];
    const Entry last = heap_.back();
    heap_.pop_back();
    place_[id] = kNowhere;
    if (hole < heap_.size()) {
      move(hole, last);
    }
  }

 private:
  struct Entry {
    Key key;
    Id id;
  };
  static constexpr std::uint32_t kNowhere = ~0U;
  static constexpr std::size_t kArity = 4;

  // Puts the entry into the heap, in which `place` is a hole.
  void move(std::size_t place, const Entry& entry) {
    if (place > 0 && entry.key < heap_[(place - 1) / kArity].key) {
      rise(place, entry);
    } else {
      sink(place, entry);
    }
  }

  void rise(std::size_t place, const Entry& entry) {
    while (place > 0 && entry.key < heap_[(place - 1) / kArity].key) {
      put(place, heap_[(place - 1) / kArity]);
      place = (place - 1) / kArity;
    }
    put(place, entry);
  }

  void sink(std::size_t place, const Entry& entry) {
    for (;;) {
      std::size_t least = place * kArity + 1;
      if (least >= heap_.size()) {
        break;
      }
      const std::size_t end = std::min(least + kArity, heap_.size());
      for (std::size_t child = least + 1; child < end; ++child) {
        least = heap_[child].key < heap_[least].key ? child : least;
      }
      if (!(heap_[least].key < entry.key)) {
        break;
      }
      put(place, heap_[least]);
      place = least;
    }
    put(place, entry);
  }

  void put(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    place_[entry.id] = static_cast<std::uint32_t>(place);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // in heap_, by id
};

}  // namespace motley
