// TokenQueue: limits how far a worker may get ahead of an out-neighbour (Luo et al., ASPLOS 2019).
// Pure: no Node.
//
// In the paper, o holds TokenQ(o -> i) and i takes tokens from it. Here o sends its tokens to i,
// which holds the queue: the counts are the same, and no request over the network is needed. A
// queue begins with max_gap - 1 tokens. o adds one whenever it begins an iteration; i removes one
// before it begins its next iteration. So
//
//   size = iteration(o) - iteration(i) + max_gap
//
// tells i how far o is ahead. When the queue is empty, i waits.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"

namespace motley {

class TokenQueue {
 public:
  explicit TokenQueue(std::int64_t max_gap) : size_(max_gap - 1), largest_size_(size_) {}

  void insert(std::int64_t tokens) {
    size_ += tokens;
    largest_size_ = std::max(largest_size_, size_);
  }
  void remove(std::int64_t tokens) {
    MOTLEY_CHECK(tokens <= size_, "cannot remove {} tokens of {}", tokens, size_);
    size_ -= tokens;
  }
  std::int64_t size() const { return size_; }
  std::int64_t largest_size() const { return largest_size_; }

 private:
  std::int64_t size_;
  std::int64_t largest_size_;
};

}  // namespace motley
