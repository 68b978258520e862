#include "sync/weighted_mean.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace motley {
namespace {

// This many models are read in parallel: the processor prefetches no more streams than that.
constexpr std::size_t kAtOnce = 4;
// This many floats of the result stay in the L1 cache until all models are added.
constexpr std::size_t kPiece = 2048;

// to = (keep * to + weighted sum of the models) / divisor, for floats [begin, begin + count).
template <std::size_t kModels>
void add(float* __restrict to, float keep, std::span<const WeightedModel> models, std::size_t begin,
         std::size_t count, float divisor) {
  std::array<const float*, kModels> from;
  std::array<float, kModels> weight;
  for (std::size_t m = 0; m < kModels; ++m) {
    from[m] = models[m].values.data() + begin;
    weight[m] = models[m].weight;
  }
  for (std::size_t i = 0; i < count; ++i) {
    float sum = keep * to[i];
    for (std::size_t m = 0; m < kModels; ++m) {
      sum += weight[m] * from[m][i];
    }
    to[i] = sum / divisor;
  }
}

using Add = void (*)(float*, float, std::span<const WeightedModel>, std::size_t, std::size_t,
                     float);
constexpr std::array<Add, kAtOnce> kAdd{add<1>, add<2>, add<3>, add<4>};

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
    for (std::size_t done = 0; done < others.size(); done += kAtOnce) {
      const auto models = others.subspan(done, std::min(kAtOnce, others.size() - done));
      const bool is_last = done + kAtOnce >= others.size();
      kAdd[models.size() - 1](own.data + begin, done == 0 ? own_weight : 1, models, begin, count,
                              is_last ? sum : 1);
    }
  }
}

}  // namespace motley
