// Staleness: whether figures of a run are still news. After some seconds without progress, and
// after a few times as long as progress usually takes to come, they are not. Pure: time is passed
// in.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "motley/base/ids.h"

namespace motley {

class Staleness {
 public:
  static constexpr Seconds kLeast = 5;
  static constexpr double kUsualGaps = 4;

  void begin(Seconds now) { latest_ = now; }
  // Something new came.
  void on_progress(Seconds now) {
    if (latest_) {
      gaps_[count_++ % kGaps] = now - *latest_;
    }
    latest_ = now;
  }
  // How long nothing new has come, if that is too long.
  std::optional<Seconds> at(Seconds now) const {
    const bool stale = latest_ && now - *latest_ >= patience();
    return stale ? std::optional(now - *latest_) : std::nullopt;
  }

 private:
  static constexpr std::size_t kGaps = 15;

  Seconds patience() const { return std::max(kLeast, kUsualGaps * usual_gap()); }

  // The median of the last gaps: a few stalls do not make the next one usual.
  Seconds usual_gap() const {
    auto gaps = gaps_;
    const auto count = static_cast<std::ptrdiff_t>(std::min(count_, kGaps));
    const auto middle = gaps.begin() + count / 2;
    std::nth_element(gaps.begin(), middle, gaps.begin() + count);
    return count > 0 ? *middle : 0;
  }

  std::optional<Seconds> latest_;  // unset before the run begins
  std::array<Seconds, kGaps> gaps_{};
  std::size_t count_ = 0;  // gaps so far
};

}  // namespace motley
