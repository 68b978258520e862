// TokenQueue: how far a worker may go on before an out-neighbour must follow (Luo et al., ASPLOS
// 2019). Pure: no Node.
//
// The paper keeps TokenQ(o -> i) at o, and i takes from it; here o sends its tokens to i, who keeps
// them: the same counts, and nobody asks over the network. A queue begins with max_gap - 1 tokens;
// o gives one whenever it begins an iteration, i takes one before it begins its next. So
//
//   size = iteration(o) - iteration(i) + max_gap
//
// tells i how far o is ahead, and i stays where it is when there is none.
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
    MOTLEY_CHECK(tokens <= size_, "{} tokens of {}", tokens, size_);
    size_ -= tokens;
  }
  std::int64_t size() const { return size_; }
  std::int64_t largest_size() const { return largest_size_; }

 private:
  std::int64_t size_;
  std::int64_t largest_size_;
};

}  // namespace motley
