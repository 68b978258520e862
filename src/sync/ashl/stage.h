// StageSwitch: decides when ASHL switches from its coarse stage (AHL) to its fine stage (SHL):
// once, when the global loss has fallen to Loss_preset (Shen et al., IEEE TC 2024). Pure: no Node.
//
//   StageSwitch stage(loss_preset, 0.25, memory_samples);
//   stage.report(loss_sum, samples);   // with every iteration of every worker
//   if (stage.fine()) ...
//
// We do not know how the paper measures the global loss; here it is the estimate of global_loss.h.
// One lucky batch must not end the coarse stage: the estimate has to stay low for some reports in a
// row.
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
  // Without a preset, the target is `fraction`, in (0, 1), of the first loss: the mean over the
  // first memory_samples / 4 samples. Fewer could be a single batch; more would no longer be the
  // beginning. Losses must be above 0. The switch needs `confirmations` low reports in a row, and
  // at least memory_samples / 2 samples in total.
  StageSwitch(std::optional<double> loss_preset, double fraction, std::int64_t memory_samples,
              std::int64_t confirmations = 3);

  // Reports the sum of the losses of these samples. Losses that are not finite are ignored.
  void report(double loss_sum, std::int64_t samples);

  // True in the fine stage (SHL). Never becomes false again.
  bool fine() const { return fine_; }
  // Call it before the coarse stage. If the loss is already low enough, the coarse stage is
  // skipped, without waiting for confirmations.
  void begin();
  // Infinite before the first report.
  double loss() const { return loss_.mean(); }
  // The loss at which the fine stage begins; nullopt until it is known.
  std::optional<double> loss_preset() const { return loss_preset_; }
  std::string reason() const;  // for being in this stage
  void state(Archive& archive);

 private:
  bool is_down() const { return loss_preset_ && loss() <= *loss_preset_; }
  void switch_now();

  const double fraction_;
  const std::int64_t memory_samples_;
  const std::int64_t confirmations_;
  std::optional<double> loss_preset_;
  GlobalLoss loss_;
  std::int64_t in_a_row_ = 0;  // consecutive reports with the loss low enough
  bool fine_ = false;
  double loss_then_ = 0;  // loss at the switch; samples_then_ is the number of samples
  std::int64_t samples_then_ = 0;
};

}  // namespace motley
