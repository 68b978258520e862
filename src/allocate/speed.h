// SpeedEstimate: how fast a worker is, from the times of its own steps.
//
// A step of b samples costs parts * fixed + b * per_sample seconds. It has one part, or several if
// b is above the worker's micro-batch (base/micro_batch.h). As long as a worker has had the same
// share, only the sum is known, and all of it counts as per_sample. Once shares have varied, a line
// through the times at the different shares separates the two: the mean part of b / parts samples
// takes time / parts = fixed + per_sample * (b / parts).
//
// Times are those of computing only, taken before communication starts: all-reduce makes every
// worker look as slow as the slowest. Medians are used because any step may be disturbed. The
// estimate knows its own error, so that decisions can tell news from noise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "motley/base/ids.h"
#include "motley/base/micro_batch.h"
#include "motley/state/archive.h"

namespace motley {

struct StepCost {
  Seconds fixed = 0;                      // of a part, independent of the number of samples
  Seconds per_sample = 0;                 // 0: not measured yet
  double error = 0;                       // relative standard error of a step's time
  bool fixed_known = false;               // false: shares have not varied enough to tell
  std::size_t micro_batch = kWholeShare;  // of this worker: the most samples of a part

  bool known() const { return per_sample > 0; }
  double parts(std::size_t samples) const {
    return static_cast<double>(part_count(samples, micro_batch));
  }
  Seconds of(std::size_t samples) const {
    return parts(samples) * fixed + static_cast<double>(samples) * per_sample;
  }
  // How much can be computed within `step`: the largest (real) number of samples that takes no
  // longer.
  double samples_within(Seconds step) const;

  void state(Archive& archive) {
    archive("fixed", fixed);
    archive("per_sample", per_sample);
    archive("error", error);
    archive("fixed_known", fixed_known);
    archive("micro_batch", micro_batch);
  }
};

// The middle of some times, and its standard error.
struct Middle {
  Seconds median = 0;
  // A smoothed median: the mean of the times after moving those further than 15 % from the median
  // to that distance. So jitter averages out, and a disturbance counts no more than jitter.
  Seconds time = 0;
  Seconds error = 0;  // one standard error
  std::size_t count = 0;

  void state(Archive& archive) {
    archive("median", median);
    archive("time", time);
    archive("error", error);
    archive("count", count);
  }
};
// `times` must not be empty.
Middle middle_of(std::vector<Seconds> times);

class SpeedEstimate {
 public:
  // The first steps with a new number of samples do not count, while caches, allocators and clocks
  // settle.
  static constexpr int kWarmUp = 2;
  // Fewer times than this are not enough evidence, for a first estimate or to change it; they wait
  // for the next end of a window.
  static constexpr int kFewestAtFirst = 4;
  static constexpr int kFewest = 8;

  // `micro_batch` is that of the worker.
  explicit SpeedEstimate(std::size_t micro_batch = kWholeShare) { cost_.micro_batch = micro_batch; }

  void add(std::size_t samples, Seconds seconds);

  // Ends a window of steps and updates the estimate. If the window contradicts the earlier
  // measurements, the worker has changed, and only the window counts.
  StepCost end_window();

  void state(Archive& archive);

 private:
  // Times of steps with the same number of samples.
  struct Group {
    std::size_t samples = 0;
    std::deque<Seconds> times;  // the latest ones
    std::int64_t window = 0;    // when one was last added
    Middle middle;

    void state(Archive& archive);
  };

  bool contradicts(const Group& known, const Middle& window) const;
  void forget_other_speed(const Group& known, const Middle& window);
  void forget_what_is_no_line(const Middle& window);
  void remember(const Middle& window);
  void fit();

  int to_drop_ = 0;
  std::size_t samples_ = 0;      // per step of the window
  std::vector<Seconds> window_;  // times of the steps since the last end, the latest ones
  std::int64_t windows_ = 0;     // ended so far
  std::vector<Group> groups_;    // since the worker last changed; the newest is last
  StepCost cost_;
};

// `mean` (proportional to the samples), with the micro-batch and the fixed cost that `known` has:
// the same time for `samples`, but longer by the fixed cost where there is one part more. `mean`
// itself for a worker without micro-batches.
StepCost in_parts(const StepCost& mean, std::size_t samples, const StepCost& known);

// The plain mean over an epoch, as used by Vineeth's dynamic partitioning.
class MeanTime {
 public:
  void add(std::size_t samples, Seconds seconds) {
    samples_ += samples;
    seconds_ += seconds;
  }
  // The mean since the last call, as a cost proportional to the samples.
  StepCost take() {
    StepCost cost;
    if (samples_ > 0) {
      cost.per_sample = seconds_ / static_cast<double>(samples_);
    }
    *this = {};
    return cost;
  }

  void state(Archive& archive) {
    archive("samples", samples_);
    archive("seconds", seconds_);
  }

 private:
  std::size_t samples_ = 0;
  Seconds seconds_ = 0;
};

}  // namespace motley
