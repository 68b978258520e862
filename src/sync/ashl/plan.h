// ASHL's plan (Shen et al., IEEE TC 2024): from what one iteration, push and pull of each worker
// take, how many iterations each does between commits, its share of the data, and how much of a
// push it may keep. Pure: the same numbers give the same plan.
//
//   const Plan plan = plan_stages(profiles, options);
//   plan.ahl: rare commits, to get near fast;  plan.shl: frequent ones, to converge well
//
// GET_H lets everybody fill the round of the slowest worker; GET_R then lets everybody but the
// slowest keep more entries, as far as time allows. Both are the paper's, letter by letter. So are
// the consequences: GET_H plans with pushes that are not compressed, after which it is slow links
// that keep many entries. The joint mode is ours: GET_H plans with pushes as they will be.
//
// Cost: one look at every worker.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "motley/base/ids.h"

namespace motley {

// What was measured of one worker. None below 0.
struct WorkerProfile {
  Seconds iteration = 0;
  Seconds push = 0;  // of all entries
  Seconds pull = 0;
  Seconds compress = 0;
};

// One entry per worker.
struct Rounds {
  std::vector<std::int64_t> iterations;  // H: between two commits
  std::vector<double> shares;            // D: of the data, their sum 1
  Seconds longest = 0;                   // Tmax: the round that all of them fill
};

// GET_H. The slowest worker does `h_preset` iterations (1 or more), everybody else as many as fit
// best into the same time, ties upwards; so nobody does fewer. A worker whose iterations took no
// time could not be measured: it does h_preset.
Rounds get_h(std::span<const WorkerProfile> profiles, std::int64_t h_preset);

// GET_R. The fraction of entries that each worker keeps: `r_preset`, in (0, 1], for who is last, up
// to 1 for the others. Pushes that take no time are not compressed.
std::vector<double> get_r(std::span<const WorkerProfile> profiles,
                          std::span<const std::int64_t> iterations, double r_preset);

// eta_i: what a worker's commits count, in proportion to its share of the data. Scaled so that the
// mean sample moves the model as far as in every other method: with weights that sum to 1 the many
// samples of fast workers would each count more than those of slow ones, and the more unlike the
// workers are, the longer all steps would be. Equally fast workers get 1/n.
std::vector<double> commit_weights(std::span<const double> shares);

// The values are ours, the paper's are not known to us.
struct PlanOptions {
  std::int64_t h_preset_ahl = 4;
  std::int64_t h_preset_shl = 2;
  double r_preset = 0.3;
  bool compressed = true;  // or else everything is kept
  bool joint = false;      // GET_H counts r_preset * push instead of push, if compressed
};

struct StagePlan {
  Rounds rounds;
  std::vector<double> ratios;       // R: of the entries, by worker
  std::vector<Seconds> round_time;  // by worker, with all of this: what its rounds should take
};

struct Plan {
  StagePlan ahl, shl;
  std::string reason;  // one line for a person
};

Plan plan_stages(std::span<const WorkerProfile> profiles, const PlanOptions& options);

}  // namespace motley
