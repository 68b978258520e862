// How fast a worker is, told from the times of its own steps.
//
// A step of b samples costs fixed + b * per_sample seconds. While a worker has always had the same
// share only the sum shows, and all of it counts as per_sample; once shares have varied, a line
// through the times at the different shares tells the two apart.
//
// Times are those of computing alone, taken before communication starts: all-reduce makes every
// worker look as slow as the slowest. Medians, because any step may be disturbed by anything; and
// the estimate knows its own error, so that whoever decides can tell news from noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

struct StepCost {
  Seconds fixed = 0;         // whatever the number of samples
  Seconds per_sample = 0;    // 0: not measured yet
  double error = 0;          // standard error of a step's time, as a part of it
  bool fixed_known = false;  // false: shares have not varied enough to tell

  bool known() const { return per_sample > 0; }
  Seconds of(std::size_t samples) const {
    return fixed + static_cast<double>(samples) * per_sample;
  }
};

// The middle of some times, and how far from the true middle it may well be.
struct Middle {
  Seconds median = 0;
  // The median, made smoother: the mean of the times, after those further than 15 % from the median
  // were moved to there. So jitter averages out, and a disturbance counts no more than jitter does.
  Seconds time = 0;
  Seconds error = 0;  // one standard error
  std::size_t count = 0;
};
// `times` is not empty.
Middle middle_of(std::vector<Seconds> times);

class SpeedEstimate {
 public:
  // The first steps with a new number of samples do not count: caches, allocators and clocks
  // settle.
  static constexpr int kWarmUp = 2;
  // Fewer times than these are no evidence and wait for the next end of a window: for a first
  // impression, and to change it.
  static constexpr int kFewestAtFirst = 4;
  static constexpr int kFewest = 8;

  void add(std::size_t samples, Seconds seconds);

  // Ends a window of steps: takes what was measured in it into the estimate. When the window
  // contradicts what was measured before, the worker has changed, and only the window counts.
  StepCost end_window();

 private:
  // Times of steps with the same number of samples.
  struct Group {
    std::size_t samples = 0;
    std::deque<Seconds> times;  // the latest of them
    std::int64_t window = 0;    // when it was last added to
    Middle middle;
  };

  bool contradicts(const Group& known, const Middle& window) const;
  void forget_other_speed(const Group& known, const Middle& window);
  void forget_what_is_no_line(const Middle& window);
  void remember(const Middle& window);
  void fit();

  int to_drop_ = 0;
  std::size_t samples_ = 0;      // of the window's steps
  std::vector<Seconds> window_;  // times of the steps since the last end, the latest of them
  std::int64_t windows_ = 0;     // ended so far
  std::vector<Group> groups_;    // since the worker last changed; the newest last
  StepCost cost_;
};

// The plain mean, as Vineeth's dynamic partitioning takes it over an epoch.
class MeanTime {
 public:
  void add(std::size_t samples, Seconds seconds) {
    samples_ += samples;
    seconds_ += seconds;
  }
  // The mean since the last call, as a cost in proportion to the samples.
  StepCost take() {
    StepCost cost;
    if (samples_ > 0) {
      cost.per_sample = seconds_ / static_cast<double>(samples_);
    }
    *this = {};
    return cost;
  }

 private:
  std::size_t samples_ = 0;
  Seconds seconds_ = 0;
};

}  // namespace motley
