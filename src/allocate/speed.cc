#include "allocate/speed.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace motley {
namespace {

constexpr std::size_t kTimesRemembered = 64;    // per number of samples
constexpr std::int64_t kWindowsRemembered = 8;  // for a number of samples that is no longer used
constexpr double kJitter = 0.15;                // relative to a step's time; more is a disturbance
constexpr double kSurprise = 4;                 // standard errors that chance does not explain
constexpr double kBelief = 3;                   // standard errors, to accept a fixed part
constexpr double kNoticeable = 0.02;            // relative to a step's time; less is not a change
constexpr double kResolution = 1e-3;  // relative to a step's time; the best possible accuracy
constexpr double kMostFixed = 0.98;   // relative to a step's time; samples always cost something
constexpr double kRestless = 0.15;    // share of the times that are disturbed
constexpr double kApart = 0.8;        // share of pairs of an old and a new time
constexpr double kSpread = 1.5;       // standard errors at which the spread of times is measured
constexpr double kCurvature =
    0.1;  // relative to a step's time; how far real costs may deviate from a line

double square(double x) { return x * x; }

// True if many of the times are further from the middle than jitter explains. The latest are left
// out, because they may come from after a change of speed.
bool restless(const std::deque<Seconds>& times, const Middle& middle) {
  const std::size_t latest = std::min(times.size() / 2, std::size_t{2} * SpeedEstimate::kFewest);
  const auto end = times.end() - static_cast<std::ptrdiff_t>(latest);
  const auto disturbed = std::count_if(times.begin(), end, [&](Seconds time) {
    return std::abs(time - middle.median) > kJitter * middle.median;
  });
  return static_cast<double>(disturbed) > kRestless * static_cast<double>(end - times.begin());
}

// A straight line through times at different numbers of samples, weighted by their certainty. It
// goes through medians: a few times from after a change of speed would bend it otherwise.
struct FittedLine {
  double fixed = 0;
  double per_sample = 0;
  double fixed_error = 0;  // standard error of `fixed`
};

// How far the time of a window may lie from the known one if nothing has changed. The few times of
// a window may be close together by chance; the known ones tell more about the spread.
double slack(const Middle& window, const Middle& known) {
  const double fewer = static_cast<double>(known.count) / static_cast<double>(window.count);
  const double error = std::max(window.error, known.error * std::sqrt(fewer));
  return std::max(kSurprise * std::hypot(error, known.error), kNoticeable * window.time);
}

// The mean part of a step: its samples and its time.
struct Point {
  double samples = 0;
  Middle time;
};

Point mean_part(std::size_t samples, const Middle& step, double parts) {
  return {static_cast<double>(samples) / parts,
          {step.median / parts, step.time / parts, step.error / parts, step.count}};
}

// `points` must have at least two different numbers of samples.
FittedLine line_through(std::span<const Point> points) {
  double s = 0;
  double sx = 0;
  double sy = 0;
  for (const Point& p : points) {
    const double w = 1 / (square(p.time.error) + square(kResolution * p.time.median));
    s += w;
    sx += w * p.samples;
    sy += w * p.time.median;
  }
  // About the mean, where the sums do not cancel.
  double sxx = 0;
  double sxy = 0;
  for (const Point& p : points) {
    const double w = 1 / (square(p.time.error) + square(kResolution * p.time.median));
    sxx += w * square(p.samples - sx / s);
    sxy += w * (p.samples - sx / s) * (p.time.median - sy / s);
  }
  FittedLine line;
  line.per_sample = sxy / sxx;
  line.fixed = sy / s - line.per_sample * sx / s;
  line.fixed_error = std::sqrt(1 / s + square(sx / s) / sxx);
  return line;
}

}  // namespace

// Whole parts first; then what fits into the time that is left, which does not suffice for another
// whole one.
double StepCost::samples_within(Seconds step) const {
  const auto most = static_cast<double>(micro_batch);
  const Seconds whole_part = fixed + most * per_sample;
  const double parts = std::floor(step / whole_part);
  const Seconds left = step - parts * whole_part;
  return parts * most + std::clamp((left - fixed) / per_sample, 0.0, most);
}

void SpeedEstimate::Group::state(Archive& archive) {
  archive("samples", samples);
  std::vector<Seconds> list(times.begin(), times.end());
  archive("times", list);
  times.assign(list.begin(), list.end());
  archive("window", window);
  archive("middle", middle);
}

void SpeedEstimate::state(Archive& archive) {
  archive("to_drop", to_drop_);
  archive("samples", samples_);
  archive("window", window_);
  archive("windows", windows_);
  archive("groups", groups_);
  archive("cost", cost_);
}

StepCost in_parts(const StepCost& mean, std::size_t samples, const StepCost& known) {
  const Seconds part = known.parts(samples) * known.fixed / static_cast<double>(samples);
  if (known.micro_batch == kWholeShare || !(part < mean.per_sample)) {
    return mean;
  }
  StepCost cost = mean;
  cost.fixed = known.fixed;
  cost.per_sample -= part;
  cost.micro_batch = known.micro_batch;
  return cost;
}

Middle middle_of(std::vector<Seconds> times) {
  MOTLEY_CHECK(!times.empty(), "no times");
  std::ranges::sort(times);
  const auto n = static_cast<double>(times.size());
  const double centre = (n - 1) / 2;
  const auto at = [&](double rank) {
    return times[static_cast<std::size_t>(std::clamp(rank, 0.0, n - 1))];
  };
  const Seconds median = (at(std::floor(centre)) + at(std::ceil(centre))) / 2;
  double sum = 0;
  double squares = 0;
  for (Seconds time : times) {
    const double off = std::clamp(time - median, -kJitter * median, kJitter * median);
    sum += off;
    squares += off * off;
  }
  // Among n times the rank of the true median is binomial: the order statistics at z * sqrt(n) / 2
  // above and below the middle are z standard errors away from it, for any distribution.
  const Seconds above = at(std::ceil(centre + kSpread * std::sqrt(n) / 2));
  const Seconds below = at(std::floor(centre - kSpread * std::sqrt(n) / 2));
  const double deviation = std::sqrt(std::max(0.0, squares / n - square(sum / n)));
  const double error = std::max((above - below) / (2 * kSpread), deviation / std::sqrt(n));
  return {median, median + sum / n, error, times.size()};
}

void SpeedEstimate::add(std::size_t samples, Seconds seconds) {
  if (samples != samples_) {
    samples_ = samples;
    to_drop_ = kWarmUp;
    window_.clear();  // for another number of samples
  }
  if (to_drop_ > 0) {
    --to_drop_;
    return;
  }
  if (window_.size() == kTimesRemembered) {
    window_.erase(window_.begin());
  }
  window_.push_back(seconds);
}

StepCost SpeedEstimate::end_window() {
  ++windows_;
  const auto fewest = static_cast<std::size_t>(cost_.known() ? kFewest : kFewestAtFirst);
  if (window_.size() < fewest || samples_ == 0) {
    return cost_;
  }
  const Middle window = middle_of(window_);
  if (const auto same = std::ranges::find(groups_, samples_, &Group::samples);
      same == groups_.end()) {
    forget_what_is_no_line(window);
  } else if (contradicts(*same, window)) {
    // If many steps are slow, a few slow ones in a row are chance: require more of them.
    if (restless(same->times, same->middle) && window_.size() < std::size_t{2} * kFewest) {
      return cost_;
    }
    forget_other_speed(*same, window);
  }
  if (window.time > 0) {
    remember(window);
    fit();
  }
  window_.clear();
  return cost_;
}

// True if the window's middle is further from the known one than chance explains, and most of its
// times lie on one side of most known ones.
bool SpeedEstimate::contradicts(const Group& known, const Middle& window) const {
  if (std::abs(window.time - known.middle.time) <= slack(window, known.middle)) {
    return false;
  }
  double longer = 0;
  for (Seconds now : window_) {
    for (Seconds before : known.times) {
      longer += now > before ? 1 : now == before ? 0.5 : 0;
    }
  }
  const double part = longer / static_cast<double>(window_.size() * known.times.size());
  return part >= kApart || part <= 1 - kApart;
}

// The same number of samples takes a different time: the worker's speed has changed. The fixed part
// of a step probably has not, unless that would now be most of the step.
void SpeedEstimate::forget_other_speed(const Group& known, const Middle& window) {
  // The change may have come in the middle of the window: only the times after it count.
  std::erase_if(window_, [&](Seconds time) {
    return std::abs(time - known.middle.time) < std::abs(time - window.time);
  });
  if (cost_.parts(samples_) * cost_.fixed > window.time / 2) {
    cost_.fixed *= std::min(1.0, window.time / known.middle.time);
  }
  groups_.clear();
}

// More samples must take longer, but not more than in proportion to the samples or, if that is
// more, to the parts; if the fixed part is already known, they must take as long as it predicts.
// Otherwise earlier times are not comparable.
void SpeedEstimate::forget_what_is_no_line(const Middle& window) {
  if (groups_.empty()) {
    return;
  }
  const Group& known = groups_.back();
  const double samples = static_cast<double>(samples_) / static_cast<double>(known.samples);
  const double parts = cost_.parts(samples_) / cost_.parts(known.samples);
  Seconds least = known.middle.time * std::min(parts, samples);
  Seconds most = known.middle.time * std::max(parts, samples);
  if (cost_.fixed_known) {
    const Seconds expected = cost_.of(samples_);
    least = std::max(least, expected * (1 - kCurvature));
    most = std::min(most, expected * (1 + kCurvature));
  }
  const double room = slack(window, known.middle);
  if (window.time < least - room || window.time > most + room) {
    groups_.clear();
    cost_.fixed = 0;
  }
}

void SpeedEstimate::remember(const Middle& window) {
  auto group = std::ranges::find(groups_, samples_, &Group::samples);
  if (group == groups_.end()) {
    groups_.push_back({samples_, {}, 0, window});
  } else {
    std::rotate(group, group + 1, groups_.end());
  }
  Group& newest = groups_.back();
  newest.window = windows_;
  newest.times.insert(newest.times.end(), window_.begin(), window_.end());
  while (newest.times.size() > kTimesRemembered) {
    newest.times.pop_front();
  }
  newest.middle = middle_of({newest.times.begin(), newest.times.end()});
  std::erase_if(groups_, [&](const Group& g) { return g.window < windows_ - kWindowsRemembered; });
}

void SpeedEstimate::fit() {
  std::vector<Point> points;
  for (const Group& group : groups_) {
    points.push_back(mean_part(group.samples, group.middle, cost_.parts(group.samples)));
  }
  const auto [samples, newest] = points.back();
  cost_.fixed_known = false;
  if (std::ranges::any_of(points,
                          [&](const Point& p) { return p.samples != points.back().samples; })) {
    const FittedLine line = line_through(points);
    // Two shares that hardly differ say nothing about the fixed part: it is accepted only if chance
    // does not explain it, and rejected only if there is no room for it.
    const bool some = line.per_sample > 0 && line.fixed > kBelief * line.fixed_error;
    const bool none = !some && line.fixed_error < kNoticeable * newest.time;
    cost_.fixed_known = some || none;
    if (cost_.fixed_known) {
      cost_.fixed = some ? line.fixed : 0;
    }
  }
  cost_.fixed = std::clamp(cost_.fixed, 0.0, kMostFixed * newest.time);
  cost_.per_sample = (newest.time - cost_.fixed) / samples;
  cost_.error = newest.error / newest.time;
}

}  // namespace motley
