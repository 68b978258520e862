// Settings of the method ashl: [strategy.ashl] in a job file (docs/ashl.md).
#pragma once

#include <cstdint>
#include <optional>

namespace motley {

struct AshlOptions {
  std::int64_t h_preset_ahl = 4;           // H_preset of the coarse stage, iterations
  std::int64_t h_preset_shl = 2;           // and of the fine one
  double r_preset = 0.3;                   // part of the entries that the busiest link carries
  std::optional<double> loss_preset = {};  // the global loss at which the fine stage begins
  std::int64_t staleness = 3;              // s_preset, commits
  double eta = 1;                          // multiplies what every commit counts
  bool error_feedback = false;             // the paper has none
  double drift = 0.2;  // a round that takes so much longer or shorter is measured anew
  bool joint = false;  // GET_H reckons with compressed pushes
};

}  // namespace motley
