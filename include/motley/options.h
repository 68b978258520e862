// Options: the job as a program sets it in code. The names are those of a job file
// (docs/job-file.md): `strategy` is its [strategy] table, `cluster` its [cluster] table.
//
//   motley::Options options{.batch = 64, .epochs = 10};
//   options.strategy.sync = "partial_reduce";
//   options.strategy.partial_reduce.group = 3;
//
// A job file given with --motley-job overrides these values; --motley-set overrides both. Options
// is a plain value and can be copied freely. A run checks it when it begins and throws
// motley::Refused if a value is invalid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "motley/cluster/spec.h"
#include "motley/job/job.h"

namespace motley {

struct Options {
  std::string name = "program";
  std::uint64_t seed = 1;  // seeds the order of samples and every random choice of a method

  std::int64_t batch = 256;                    // samples per step, over all workers
  std::optional<std::int64_t> epochs = {};     // passes over the data; the run ends at whichever
  std::optional<std::int64_t> steps = {};      // limit is reached first; with neither: one epoch
  std::optional<double> target_accuracy = {};  // also ends the run when an evaluation reaches it
  std::int64_t eval_every = 50;                // steps between evaluations; 0 = only at the end

  StrategySpec strategy = {};  // sync, allocation, codec and the keys of each method
  ClusterSpec cluster = {};    // pace and speeds of workers on one machine, heartbeat, threads
};

}  // namespace motley
