#include "record/straggler.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace motley {
namespace {

constexpr double kWorthNaming = 0.05;    // share of its time that a worker waits
constexpr double kClearlyLonger = 1.15;  // relative to the median
constexpr double kWorthALook = 0.2;      // share of everybody's time spent on exchanges
constexpr double kLongEnough = 0.25;     // of the time of whoever was there longest
constexpr double kSlowLink = 3;          // ratio of transit times

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

// What a worker needs: to compute a sample, to compute a step, and to move a step's bytes.
struct Costs {
  double sample = 0;
  double step = 0;
  double bytes = 0;
};

Costs costs_of(const WorkerPace& worker) {
  return {per(worker.compute, worker.samples), per(worker.compute, worker.steps),
          per(worker.communicate, worker.steps)};
}

Costs median_costs(std::span<const WorkerPace> workers) {
  const auto median_of = [&](double Costs::*cost) {
    return median(workers, [&](const WorkerPace& worker) { return costs_of(worker).*cost; });
  };
  return {median_of(&Costs::sample), median_of(&Costs::step), median_of(&Costs::bytes)};
}

// What takes this worker longer than the other; empty if nothing does.
std::string difference(const WorkerPace& worker, const Costs& other, const std::string& who) {
  const Costs own = costs_of(worker);
  const double sample = per(own.sample, other.sample);
  const double step = per(own.step, other.step);
  const double bytes = per(own.bytes, other.bytes);
  if (step > kClearlyLonger && sample > kClearlyLonger) {
    return fmt::format("takes {:.1f}x as long for a sample as {}", sample, who);
  }
  if (step > kClearlyLonger) {
    return fmt::format("takes {:.1f}x as long for a step as {}, with a larger share", step, who);
  }
  if (bytes > kClearlyLonger && own.bytes > own.step * (kClearlyLonger - 1)) {
    return fmt::format("takes {:.1f}x as long to move bytes as {}", bytes, who);
  }
  return "";
}

double per_byte(const WorkerPace& worker) { return per(worker.transit, worker.bytes); }

// The worker with the slow link, if exchanges take much of everybody's time.
std::optional<Straggler> slowest_link(std::span<const WorkerPace> workers) {
  Seconds all = 0;
  Seconds exchanging = 0;
  for (const WorkerPace& worker : workers) {
    all += worker.seconds();
    exchanging += worker.communicate + worker.wait;
  }
  const auto [quick, slow] = std::ranges::minmax_element(workers, {}, per_byte);
  const double times = per(per_byte(*slow), per_byte(*quick));
  if (exchanging < kWorthALook * all || times < kSlowLink ||
      slow->transit < kWorthNaming * slow->seconds()) {
    return std::nullopt;
  }
  return Straggler{slow->rank,
                   fmt::format("has a slow link: bytes take {:.1f}x as long as with worker {}",
                               times, quick->rank)};
}

}  // namespace

std::optional<Straggler> find_straggler(std::span<const WorkerPace> workers) {
  Seconds longest = 0;
  for (const WorkerPace& worker : workers) {
    longest = std::max(longest, worker.seconds());
  }
  std::vector<WorkerPace> known;
  std::ranges::copy_if(workers, std::back_inserter(known), [&](const WorkerPace& worker) {
    return worker.steps > 0 && worker.seconds() >= kLongEnough * longest;
  });
  if (known.size() < 2) {
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax_element(known, {}, wait_of);
  if (wait_of(*most) - wait_of(*least) < kWorthNaming) {
    return slowest_link(known);
  }
  std::string reason = difference(*least, median_costs(known), "the median worker");
  if (reason.empty()) {  // most are equally slow
    reason = difference(*least, costs_of(*most), fmt::format("worker {}, which waits", most->rank));
  }
  if (!reason.empty()) {
    return Straggler{least->rank, std::move(reason)};
  }
  const auto link = slowest_link(known);
  return link ? *link : Straggler{least->rank, "takes a little longer than the others"};
}

}  // namespace motley
