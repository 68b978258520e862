#include "record/scalars.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace motley {
namespace {

// The shares of a worker's time between two points in time.
struct TimeShares {
  int worker;
  double compute;
  double wait;
};

std::optional<TimeShares> parts_of(int worker, const WorkerFigures& now,
                                   const WorkerFigures& before) {
  const Seconds compute = now.compute - before.compute;
  const Seconds wait = now.wait - before.wait;
  const Seconds all = compute + wait + (now.communicate - before.communicate);
  if (!(all > 0)) {
    return std::nullopt;  // no time has passed
  }
  return TimeShares{worker, compute / all, wait / all};
}

std::vector<TimeShares> parts_of_all(const RunFigures& now, const RunFigures& before) {
  std::vector<TimeShares> all;
  for (const auto& [id, figures] : now.workers) {
    const auto then = before.workers.find(id);
    if (const auto parts =
            parts_of(id, figures, then == before.workers.end() ? WorkerFigures{} : then->second)) {
      all.push_back(*parts);
    }
  }
  return all;
}

void add_parts(Scalars& scalars, const std::string& section, double TimeShares::*part, bool apart,
               const std::vector<TimeShares>& all) {
  if (apart) {
    for (const TimeShares& parts : all) {
      scalars.emplace_back(fmt::format("{}/worker_{}", section, parts.worker), parts.*part);
    }
    return;
  }
  double least = 1;
  double most = 0;
  double sum = 0;
  for (const TimeShares& parts : all) {
    least = std::min(least, parts.*part);
    most = std::max(most, parts.*part);
    sum += parts.*part;
  }
  scalars.emplace_back(section + "/least", least);
  scalars.emplace_back(section + "/mean", sum / static_cast<double>(all.size()));
  scalars.emplace_back(section + "/most", most);
}

}  // namespace

Scalars scalars_of(const Metric& metric) {
  Scalars scalars = {{"test/loss", metric.loss}};
  if (!std::isnan(metric.accuracy)) {
    scalars.emplace_back("test/accuracy", metric.accuracy);
  }
  for (const NamedNumber& each : metric.named) {
    scalars.emplace_back("test/" + each.name, each.value);
  }
  return scalars;
}

Scalars scalars_of(const RunFigures& now, const RunFigures& before) {
  Scalars scalars;
  if (now.train_loss) {
    scalars.emplace_back("train/loss", *now.train_loss);
  }
  if (now.seconds > before.seconds) {
    scalars.emplace_back(
        "throughput/samples_per_second",
        static_cast<double>(now.samples - before.samples) / (now.seconds - before.seconds));
  }
  if (const auto all = parts_of_all(now, before); !all.empty()) {
    const bool apart = now.workers.size() <= kMostWorkersApart;
    add_parts(scalars, "compute", &TimeShares::compute, apart, all);
    add_parts(scalars, "wait", &TimeShares::wait, apart, all);
  }
  return scalars;
}

}  // namespace motley
