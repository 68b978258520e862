// How much longer steps take than computing in them, in the best of some stretches of a run: a busy
// machine disturbs some of them, but not all.
#pragma once

#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

namespace motley {

class StepRatio {
 public:
  using Clock = std::chrono::steady_clock;

  // Call when a step's batch is there, and when it is computed.
  void begins() { began_.push_back(Clock::now()); }
  void computed() { computing_.push_back(Clock::now() - began_.back()); }

  // Nothing can be fetched ahead for the first step, so it does not count.
  double best() const {
    constexpr std::size_t kStretch = 4;
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i + kStretch < began_.size(); ++i) {
      std::chrono::duration<double> computing{0};
      for (std::size_t k = i; k < i + kStretch; ++k) {
        computing += computing_[k];
      }
      best = std::min(best, (began_[i + kStretch] - began_[i]) / computing);
    }
    return best;
  }

 private:
  std::vector<Clock::time_point> began_;
  std::vector<Clock::duration> computing_;
};

}  // namespace motley
