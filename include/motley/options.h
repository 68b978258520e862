// Options: the job as a program sets it in code. The names are those of a job file
// (docs/job-file.md): `strategy` is its [strategy] table, `cluster` its [cluster] table.
//
//   motley::Options options{.batch = 64, .epochs = 10};
//   options.strategy.sync = "mine";                           // a method's name
//   options.strategy.of<motley::MineOptions>().rounds = 3;    // its settings, from its header
//
// A job file given with --motley-job overrides these values; --motley-set overrides both. Options
// is a plain value and can be copied freely. A run checks it when it begins and throws
// motley::Refused if a value is invalid.
#pragma once

#include "motley/base/cxx20.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::int64_t eval_every_epochs = 0;          // epochs; if it is not 0, eval_every does not count
  std::optional<std::int64_t> checkpoint_every = {};  // steps; 0 = none, not set: every 10 minutes
  int checkpoint_keep = 3;                            // how many of the newest checkpoints stay
  // Goes on from a checkpoint: a run directory, or one checkpoint in it. --motley-resume overrides.
  std::optional<std::string> resume = {};
  // The most samples that a worker computes at once, to limit memory: one number per worker, or a
  // single one for all; if empty, a worker computes its whole share at once.
  std::vector<std::int64_t> micro_batch = {};
  // The names of the numbers that Trainer::count() adds up over all ranks; at most 12.
  std::vector<std::string> counts = {};

  // The order of the samples in an epoch; Trainer::set_order() sets one of your own.
  SampleOrder order = SampleOrder::kShuffled;
  bool drop_last = false;  // leaves out the rest of an epoch that is less than a batch
  // Every place in the batch stays with its rank, for models that keep a state from batch to batch.
  // Refused if the method or the shares do not allow it.
  bool sticky = false;
  // No rank gets fewer samples for a step, unless it gets none. Not set: 2 if a trainer's module
  // has a BatchNorm, otherwise 1.
  std::optional<int> min_share = {};
  // Every share comes in so many parts, one begin() each, and the step is taken after the last one.
  int accumulate = 1;
  // Threads that fetch samples while this process computes others: {.workers = 2, .ahead = 2}. They
  // call the data set, several at once (docs/api.md).
  LoaderSpec loader = {};

  StrategySpec strategy = {};  // sync, allocation, codec and the keys of each method
  ClusterSpec cluster = {};    // pace and speeds of workers on one machine, heartbeat, threads
};

}  // namespace motley
