// Least: the minimum of many values that change one at a time.
//
//   Least<std::int64_t> steps(workers, 0);
//   steps.set(worker, 7);   // O(log n); usually less, as few changes reach the root
//   steps.least();          // O(1)
//
// A tournament tree: each node holds the smaller of its two children. Level l divides the places
// into runs of 2^l; the minimum of each run can be queried too.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <vector>

namespace motley {

template <class Value>
class Least {
 public:
  // Returned where there are no places; greater than any value.
  static constexpr Value kNothing = std::numeric_limits<Value>::max();

  explicit Least(std::size_t places, Value value = kNothing)
      : leaves_(std::bit_ceil(std::max<std::size_t>(places, 1))), nodes_(2 * leaves_, kNothing) {
    std::fill_n(nodes_.begin() + static_cast<std::ptrdiff_t>(leaves_), places, value);
    for (std::size_t node = leaves_; --node > 0;) {
      nodes_[node] = lesser_below(node);
    }
  }

  Value operator[](std::size_t place) const { return nodes_[leaves_ + place]; }
  Value least() const { return nodes_[1]; }
  // The minimum of the places [run << level, (run + 1) << level).
  Value of_run(int level, std::size_t run) const { return nodes_[(leaves_ >> level) + run]; }
  // The level whose single run is all places.
  int top() const { return std::countr_zero(leaves_); }

  void set(std::size_t place, Value value) {
    std::size_t node = leaves_ + place;
    nodes_[node] = value;
    while (node > 1) {
      node /= 2;
      const Value lesser = lesser_below(node);
      if (nodes_[node] == lesser) {
        return;
      }
      nodes_[node] = lesser;
    }
  }

 private:
  Value lesser_below(std::size_t node) const {
    return std::min(nodes_[2 * node], nodes_[2 * node + 1]);
  }

  std::size_t leaves_;        // a power of two
  std::vector<Value> nodes_;  // the children of i are 2i and 2i+1; the values begin at leaves_
};

}  // namespace motley
