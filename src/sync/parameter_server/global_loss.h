// GlobalLoss: an estimate of the loss of the model that all workers train. Pure: no Node.
//
// The servers have no data, and the test set must not influence training. So the estimate is an
// exponential moving average of the training losses that workers report: the weight of a sample
// falls to 1/e after `memory` more samples. It is bias-corrected like the moments of Adam.
#pragma once

#include <cstdint>

#include "motley/state/archive.h"

namespace motley {

class GlobalLoss {
 public:
  explicit GlobalLoss(std::int64_t memory);

  // Adds the sum of the losses of these samples. Ignores a loss that is not finite and returns
  // false.
  bool report(double loss_sum, std::int64_t samples);

  // Infinite before the first report.
  double mean() const;
  std::int64_t samples() const { return samples_; }

  void state(Archive& archive) {
    archive("weighted", weighted_);
    archive("weight", weight_);
    archive("samples", samples_);
  }

 private:
  const double memory_;
  double weighted_ = 0;  // of losses; dividing by weight_ is the bias correction
  double weight_ = 0;
  std::int64_t samples_ = 0;
};

}  // namespace motley
