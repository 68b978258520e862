// A RunMonitor that records what it hears and can ask the run to stop.
#pragma once

#include <limits>
#include <vector>

#include "runtime/run/run.h"

namespace motley {

class QuietMonitor final : public RunMonitor {
 public:
  void on_progress(const RunProgress& progress) override { samples = progress.samples; }
  void on_metric(const Metric& metric) override { metrics.push_back(metric); }
  std::optional<std::string> stop_requested() override {
    return samples >= stop_after_samples ? std::optional<std::string>("SIGINT") : std::nullopt;
  }
  bool abandon_requested() override { return false; }

  std::int64_t samples = 0;
  std::int64_t stop_after_samples = std::numeric_limits<std::int64_t>::max();
  std::vector<Metric> metrics;
};

}  // namespace motley
