// GlobalLoss: the loss of the model that workers train together, from what each of them reports.
// Pure: no Node.
//
// The servers hold parameters and no data, and the test set is nobody's to steer by; so it is the
// mean of the training losses that workers report, older samples counting less: those `memory`
// samples ago count 1/e. It is corrected for its beginning as Adam corrects its moments, so it
// never leans towards 0.
#pragma once

#include <cstdint>

namespace motley {

class GlobalLoss {
 public:
  explicit GlobalLoss(std::int64_t memory);

  // The sum of the losses of these samples. What is no number is as if it had not been reported:
  // false.
  bool report(double loss_sum, std::int64_t samples);

  // Infinite before the first report.
  double mean() const;
  std::int64_t samples() const { return samples_; }

 private:
  const double memory_;
  double weighted_ = 0;  // of losses, and of 1 in their place: the correction is their quotient
  double weight_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace motley
