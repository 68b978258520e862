// RunFigures: the figures of a run at one point in time, for TensorBoard (record/scalars.h) and
// Prometheus (record/prometheus.h). All values count from the beginning of the run; subtract two of
// them to see what happened in between.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "motley/base/ids.h"
#include "record/run_record.h"
#include "record/summary.h"

namespace motley {

struct RunFigures {
  std::string name;  // arbitrary text
  std::string mode;  // "train", "simulate"
  std::string sync;
  std::string allocation;
  std::string codec;
  bool running = true;
  Seconds seconds = 0;
  std::int64_t samples = 0;
  std::int64_t limit = 0;         // samples of the whole run
  double samples_per_second = 0;  // current value
  std::int64_t bytes_sent = 0;
  std::optional<Metric> test;  // the latest one
  std::optional<double> train_loss;
  std::map<int, WorkerFigures> workers;  // by id
};

RunFigures figures_of(const RunRecord& record);

}  // namespace motley
