// StageSwitch: when ASHL goes from its coarse stage (AHL) to its fine one (SHL): once, when the
// global loss has come down to Loss_preset (Shen et al., IEEE TC 2024). Pure: no Node.
//
//   StageSwitch stage(loss_preset, fraction, memory_samples);
//   stage.report(loss_sum, samples);   // with every commit
//   if (stage.fine()) ...
//
// How the paper measures the global loss is not known to us. Here it is the mean of what workers
// report, older samples counting less: those `memory_samples` ago count 1/e. It is corrected for
// its beginning as Adam corrects its moments, so it never leans towards 0. One lucky batch must not
// end the coarse stage: the mean has to stay down for some reports in a row.
//
// Cost: a few operations per report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

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
  // Infinite before the first report.
  double loss() const;
  // What the loss has to come down to, as soon as it is known.
  std::optional<double> loss_preset() const { return loss_preset_; }
  std::string reason() const;  // for being in this stage

 private:
  const double fraction_;
  const std::int64_t memory_samples_;
  const std::int64_t confirmations_;
  std::optional<double> loss_preset_;
  double weighted_ = 0;  // of losses, and of 1 in their place: bias correction is their quotient
  double weight_ = 0;
  std::int64_t samples_ = 0;
  std::int64_t in_a_row_ = 0;  // reports after which the loss was down
  bool fine_ = false;
  double loss_then_ = 0;  // at the switch, and after how many samples
  std::int64_t samples_then_ = 0;
};

}  // namespace motley
