// StageSwitch: when ASHL goes from its coarse stage (AHL) to its fine one (SHL): once, when the
// global loss has come down to Loss_preset (Shen et al., IEEE TC 2024). Pure: no Node.
//
//   StageSwitch stage(loss_preset, 0.25, memory_samples);
//   stage.report(loss_sum, samples);   // with every iteration of every worker
//   if (stage.fine()) ...
//
// How the paper measures the global loss is not known to us; here it is global_loss.h's. One lucky
// batch must not end the coarse stage: the mean has to stay down for some reports in a row.
//
// Cost: a few operations per report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sync/parameter_server/global_loss.h"

namespace motley {

class StageSwitch {
 public:
  // Without a preset it is `fraction`, in (0, 1), of the first loss that is known: the mean over
  // the first memory_samples / 4. Less would be a single batch's, more would no longer be that of
  // the beginning. For losses above 0. The switch wants `confirmations` reports in a row, and
  // memory_samples / 2 in all.
  StageSwitch(std::optional<double> loss_preset, double fraction, std::int64_t memory_samples,
              std::int64_t confirmations = 3);

  // The sum of the losses of these samples. What is no number is as if it had not been reported.
  void report(double loss_sum, std::int64_t samples);

  // SHL. Once true, always true.
  bool fine() const { return fine_; }
  // Before the coarse stage: when the loss is down already, it is left out. The first reports need
  // no confirmation then, as there is nothing to go back to.
  void begin();
  // Infinite before the first report.
  double loss() const { return loss_.mean(); }
  // What the loss has to come down to, as soon as it is known.
  std::optional<double> loss_preset() const { return loss_preset_; }
  std::string reason() const;  // for being in this stage

 private:
  bool is_down() const { return loss_preset_ && loss() <= *loss_preset_; }
  void switch_now();

  const double fraction_;
  const std::int64_t memory_samples_;
  const std::int64_t confirmations_;
  std::optional<double> loss_preset_;
  GlobalLoss loss_;
  std::int64_t in_a_row_ = 0;  // reports after which the loss was down
  bool fine_ = false;
  double loss_then_ = 0;  // at the switch, and after how many samples
  std::int64_t samples_then_ = 0;
};

}  // namespace motley
