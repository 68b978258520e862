// Jobs for the simulator, for tests of methods.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "motley/job/job.h"
#include "runtime/simulate/simulate.h"
#include "tests/quiet_monitor.h"

namespace motley {

// A bandwidth for tests that are about something else.
inline constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// A sample takes a millisecond at speed 1. Evaluated only at the end.
inline Job simulated_job(std::string sync, std::vector<double> speeds, std::int64_t batch,
                         std::int64_t steps) {
  Job job;
  job.strategy.sync = std::move(sync);
  job.strategy.shares.assign(speeds.size(), 1.0);
  job.train.batch = batch;
  job.train.steps = steps;
  job.train.eval_every = 0;
  job.cluster.workers = static_cast<int>(speeds.size());
  job.cluster.unit = 1e-3;
  job.cluster.speeds = std::move(speeds);
  job.cluster.bandwidth.assign(job.cluster.speeds.size(), 1.25e9);
  return job;
}

inline std::vector<double> equal_speeds(int workers) {
  return std::vector<double>(static_cast<std::size_t>(workers), 1.0);
}

// Compute-bound and without arithmetic.
inline RunOutcome simulate_phantom(Job job) {
  job.model.kind = ModelKind::kPhantom;
  PhantomTask task(60'000, 100'000);
  QuietMonitor monitor;
  return simulate(job, task, monitor);
}

}  // namespace motley
