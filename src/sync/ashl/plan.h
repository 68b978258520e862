// ASHL's plan (Shen et al., IEEE TC 2024). From the times of one iteration, push and pull of each
// worker it computes the iterations between commits, the share of the data, and the fraction of
// entries that each worker pushes. Pure: the same numbers give the same plan.
//
//   const Plan plan = plan_stages(profiles, options);
//   plan.ahl: rare commits, for fast progress;  plan.shl: frequent commits, for good convergence
//
// GET_H lets every worker fill the round of the slowest one. GET_R then lets every worker except
// the slowest keep more entries, as far as time allows. Both are exactly as in the paper. Since
// GET_H plans with uncompressed pushes, workers with slow links end up keeping many entries. The
// joint mode is ours: GET_H plans with compressed pushes.
//
// Cost: one pass over the workers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "motley/base/ids.h"
#include "motley/state/archive.h"

namespace motley {

// The measurements of one worker, none negative.
struct WorkerProfile {
  Seconds iteration = 0;
  Seconds push = 0;  // of all entries, uncompressed
  Seconds pull = 0;
  Seconds compress = 0;

  void state(Archive& archive);
};

// One entry per worker.
struct Rounds {
  std::vector<std::int64_t> iterations;  // H: between two commits
  std::vector<double> shares;            // D: shares of the data, with sum 1
  Seconds longest = 0;                   // Tmax: the time of the longest round

  void state(Archive& archive);
};

// GET_H. The slowest worker does `h_preset` iterations (1 or more). Every other worker does as many
// as fit best into the same time, with ties rounded up, so never fewer. A worker whose measured
// iteration time is 0 does h_preset.
Rounds get_h(std::span<const WorkerProfile> profiles, std::int64_t h_preset);

// GET_R. The fraction of entries that each worker keeps: `r_preset`, in (0, 1], for the slowest, up
// to 1 for the others. Pushes that take no time are not compressed.
std::vector<double> get_r(std::span<const WorkerProfile> profiles,
                          std::span<const std::int64_t> iterations, double r_preset);

// eta_i: the weight of a worker's commits, in proportion to its share of the data. The weights are
// scaled so that the average sample moves the model as far as in every other method. If they summed
// to 1, each of the many samples of fast workers would count more than those of slow workers, and
// steps would become longer the more the workers differ. Equal workers get 1/n.
std::vector<double> commit_weights(std::span<const double> shares);

// The default values are ours; we do not know the paper's.
struct PlanOptions {
  std::int64_t h_preset_ahl = 4;
  std::int64_t h_preset_shl = 2;
  double r_preset = 0.3;
  bool compressed = true;  // false: all entries are kept
  bool joint = false;      // GET_H counts r_preset * push instead of push, if compressed
};

struct StagePlan {
  Rounds rounds;
  std::vector<double> ratios;       // R: fractions of the entries, by worker
  std::vector<Seconds> round_time;  // planned time of a round, by worker

  void state(Archive& archive);
};

struct Plan {
  StagePlan ahl, shl;
  std::string reason;  // one line for users

  void state(Archive& archive);
};

Plan plan_stages(std::span<const WorkerProfile> profiles, const PlanOptions& options);

}  // namespace motley
