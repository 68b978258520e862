// A replica with numbers to exchange and nothing to compute.
#pragma once

#include <cstddef>
#include <vector>

#include "motley/sync/replica.h"

namespace motley::bench {

class Numbers final : public Replica {
 public:
  explicit Numbers(std::size_t floats) : numbers_(floats + kTail, 1.0F) {}

  Block parameters() override { return {numbers_.data(), numbers_.size() - kTail}; }
  Block gradient() override { return {numbers_.data(), numbers_.size()}; }
  Block buffers() override { return {}; }
  double compute(std::span<const SampleIndex>) override { return 0; }
  void apply(double) override {}

 private:
  std::vector<float> numbers_;
};

}  // namespace motley::bench
