// The scalars of a run for TensorBoard. The part of a name before the slash is the section in which
// TensorBoard shows it.
//
//   file.add(wall_time, step, scalars_of(now, before));
//   file.add(wall_time, metric.step, scalars_of(metric));
//
//   test/loss, test/accuracy            of an evaluation; the accuracy if it is known
//   test/<name>                         what else a program has measured
//   train/loss
//   throughput/samples_per_second
//   compute/worker_0, wait/worker_0 ... shares of the worker's time since `before`, 0 to 1
//
// With more than kMostWorkersApart workers, single charts would be unreadable; the minimum, mean
// and maximum are given instead: compute/least, compute/mean, compute/most.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "record/run_figures.h"

namespace motley {

using Scalars = std::vector<std::pair<std::string, double>>;

inline constexpr std::size_t kMostWorkersApart = 64;

// `before` holds the figures of the previous call for the same run; {} at first.
Scalars scalars_of(const RunFigures& now, const RunFigures& before);
// Evaluations are separate because their step may be in the past when the result arrives.
Scalars scalars_of(const Metric& metric);

}  // namespace motley
