#include "record/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace motley {
namespace {

constexpr double kWorthNaming = 0.05;    // part of its time that somebody waits
constexpr double kClearlyLonger = 1.15;  // than the median

double wait_of(const WorkerPace& worker) {
  return worker.seconds() > 0 ? worker.wait / worker.seconds() : 0;
}

template <class Measure>
double median(std::span<const WorkerPace> workers, Measure measure) {
  std::vector<double> values;
  std::ranges::transform(workers, std::back_inserter(values), measure);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double per(double amount, double count) { return count > 0 ? amount / count : 0; }

// What it does longer than most.
std::string reason_for(const WorkerPace& worker, std::span<const WorkerPace> workers) {
  const auto times_median = [&](auto measure) {
    return per(measure(worker), median(workers, measure));
  };
  const double sample = times_median([](const WorkerPace& w) { return per(w.compute, w.samples); });
  const double step = times_median([](const WorkerPace& w) { return per(w.compute, w.steps); });
  const double bytes =
      times_median([](const WorkerPace& w) { return per(w.communicate, w.steps); });
  if (step > kClearlyLonger && sample > kClearlyLonger) {
    return fmt::format("takes {:.1f}x as long for a sample as the median worker", sample);
  }
  if (step > kClearlyLonger) {
    return fmt::format("takes {:.1f}x as long for a step, with a larger share", step);
  }
  if (bytes > kClearlyLonger && worker.communicate > worker.compute * (kClearlyLonger - 1)) {
    return fmt::format("takes {:.1f}x as long to move bytes as the median worker", bytes);
  }
  return "takes a little longer than the others";
}

}  // namespace

std::optional<Straggler> find_straggler(std::span<const WorkerPace> workers) {
  std::vector<WorkerPace> known;
  std::ranges::copy_if(workers, std::back_inserter(known),
                       [](const WorkerPace& worker) { return worker.steps > 0; });
  if (known.size() < 2) {
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax_element(known, {}, wait_of);
  if (wait_of(*most) - wait_of(*least) < kWorthNaming) {
    return std::nullopt;
  }
  return Straggler{least->rank, reason_for(*least, known)};
}

}  // namespace motley
