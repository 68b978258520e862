// Hearing: for how long nothing has come from somebody. The time in which this process did not run,
// because it or its machine was stopped, does not count: what has come meanwhile is not read yet.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace motley {

class Hearing {
 public:
  using Moment = std::chrono::nanoseconds;

  // Something has come. Any thread may call it.
  void hear(Moment now) { heard_ = now.count(); }
  // Call it often, always on the same thread.
  Moment silence(Moment now) {
    const Moment since = now - std::exchange(looked_, now);
    if (since > kPause && since < now) {  // not the first look
      heard_ += since.count();
    }
    return now - Moment(heard_);
  }

 private:
  static constexpr Moment kPause = std::chrono::milliseconds(500);

  std::atomic<std::int64_t> heard_ = 0;
  Moment looked_{0};
};

}  // namespace motley
