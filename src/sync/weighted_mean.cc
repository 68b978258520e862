#include "sync/weighted_mean.h"

#include <algorithm>

#include "base/check.h"

namespace motley {
namespace {

// So many floats of the result stay in the first cache while one model after the other is added.
constexpr std::size_t kPiece = 2048;

void scale(float* to, std::size_t count, float weight) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] *= weight;
  }
}

void add(float* to, const float* from, std::size_t count, float weight) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] += weight * from[i];
  }
}

void add_and_divide(float* to, const float* from, std::size_t count, float weight, float sum) {
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = (to[i] + weight * from[i]) / sum;
  }
}

}  // namespace

void weighted_mean(Block own, float own_weight, std::span<const WeightedModel> others) {
  if (own.phantom() || others.empty()) {
    return;
  }
  float sum = own_weight;
  for (const WeightedModel& other : others) {
    MOTLEY_CHECK(other.values.size() == own.size, "a model of {} floats, not {}",
                 other.values.size(), own.size);
    sum += other.weight;
  }
  for (std::size_t begin = 0; begin < own.size; begin += kPiece) {
    const std::size_t count = std::min(kPiece, own.size - begin);
    float* to = own.data + begin;
    if (own_weight != 1) {
      scale(to, count, own_weight);
    }
    for (const WeightedModel& other : others.first(others.size() - 1)) {
      add(to, other.values.data() + begin, count, other.weight);
    }
    add_and_divide(to, others.back().values.data() + begin, count, others.back().weight, sum);
  }
}

}  // namespace motley
