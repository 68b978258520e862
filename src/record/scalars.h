// What TensorBoard draws of a run: a few numbers with names. The part of a name before the slash is
// the section in which TensorBoard shows it.
//
//   file.add(wall_time, step, scalars_of(now, before));
//   file.add(wall_time, metric.step, scalars_of(metric));
//
//   test/loss, test/accuracy            of an evaluation
//   train/loss
//   throughput/samples_per_second
//   compute/worker_0, wait/worker_0 ... parts of the worker's time since `before`, 0 to 1
//
// Of more than kMostWorkersApart workers, which would be a page of charts that nobody can read, the
// least, the mean and the most are given: compute/least, compute/mean, compute/most.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "record/run_figures.h"

namespace motley {

using Scalars = std::vector<std::pair<std::string, double>>;

inline constexpr std::size_t kMostWorkersApart = 64;

// `before` is what was drawn last, of the same run; {} at first.
Scalars scalars_of(const RunFigures& now, const RunFigures& before);
// Evaluations are apart: they are of a step that may be past when they are known.
Scalars scalars_of(const Metric& metric);

}  // namespace motley
