// Options: what is trained how, set in a program's code. The same names as in a job file
// (docs/job-file.md): `strategy` is its [strategy] table, `cluster` its [cluster].
//
//   motley::Options options{.batch = 64, .epochs = 10};
//   options.strategy.sync = "partial_reduce";
//   options.strategy.partial_reduce.group = 3;
//
// A job file given with --motley-job changes what the code says, --motley-set changes both. Plain
// values: copy them as you like. They are checked when a run begins (motley::Refused).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "motley/cluster/spec.h"
#include "motley/job/job.h"

namespace motley {

struct Options {
  std::string name = "program";
  std::uint64_t seed = 1;  // of the order of samples, and of every random choice of a method

  std::int64_t batch = 256;  // samples in one step of all workers together
  std::optional<std::int64_t> epochs =
      {};                                  // passes over the data; whichever limit is reached first
  std::optional<std::int64_t> steps = {};  // ends the run; neither given: one epoch
  std::optional<double> target_accuracy = {};  // ends it when an evaluation reaches it
  std::int64_t eval_every = 50;                // steps between evaluations; 0 = only at the end

  StrategySpec strategy = {};  // sync, allocation, codec, and what each method has of its own
  ClusterSpec cluster = {};    // pace and speeds of workers on one machine, heartbeat, threads
};

}  // namespace motley
