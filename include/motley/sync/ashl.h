// Settings of the method ashl: [strategy.ashl] in a job file (docs/ashl.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

struct AshlOptions {
  std::int64_t h_preset_ahl = 4;           // H_preset of the coarse stage, iterations
  std::int64_t h_preset_shl = 2;           // H_preset of the fine stage
  double r_preset = 0.3;                   // fraction of the entries that the busiest worker pushes
  std::optional<double> loss_preset = {};  // global loss at which the fine stage begins
  std::int64_t staleness = 3;   // s_preset: commits ahead of the slowest, in the fine stage
  double eta = 1;               // factor on the weight of every commit
  bool error_feedback = false;  // the paper has none
  double drift = 0.2;  // relative deviation of a round's time after which it is planned again
  bool joint = false;  // GET_H plans with the time of compressed pushes
};

}  // namespace motley
