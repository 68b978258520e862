#include "sync/partial_reduce/window_policy.h"

#include <algorithm>

namespace motley {

// If no other worker can become ready, there is nothing to wait for.
std::size_t WindowPolicy::size_now(const ReadyQueue& ready, Seconds now) const {
  return ready.still_to_come == 0 || now >= ask_again(ready) ? ready.count : 0;
}

Seconds WindowPolicy::ask_again(const ReadyQueue& ready) const {
  return ready.first_came + wait_ * ready.first_period;
}

void WindowPolicy::left(std::size_t size) {
  wait_ = size < wanted_ ? std::min(kLonger * wait_, kLongestWait)
                         : std::max(kShorter * wait_, kShortestWait);
}

}  // namespace motley
