// The cost of averaging neighbours' models, compared with a plain copy of memory.
//
//   mean_bench [--quick] [--json FILE]
//
// The mean of a model and those of k neighbours reads k + 1 models and writes one; a copy reads one
// and writes one. Both are limited by memory, so bytes moved per second are compared. They take
// turns; models are larger than any cache. The figure is the ratio of medians.
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <vector>

#include "bench_main.h"
#include "sync/weighted_mean.h"

namespace motley::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Model = std::vector<float>;

constexpr std::size_t kFloats = 16'000'000;  // 64 MB

template <class Body>
double bytes_per_second(std::size_t models_moved, Body body) {
  const auto begin = Clock::now();
  body();
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  return static_cast<double>(models_moved * kFloats * sizeof(float)) / seconds.count();
}

Rows measure(bool quick) {
  Rows rows = Rows::array();
  Model own(kFloats, 1.0F);
  std::vector<Model> others(8, Model(kFloats, 2.0F));
  for (const std::size_t neighbours : {1, 2, 4, 8}) {
    std::vector<WeightedModel> models;
    for (std::size_t i = 0; i < neighbours; ++i) {
      models.push_back({others[i]});
    }
    std::vector<double> means;
    std::vector<double> copies;
    for (int round = quick ? 3 : 15; round > 0; --round) {
      means.push_back(bytes_per_second(neighbours + 2, [&] {
        weighted_mean({own.data(), own.size()}, 1, models);
      }));
      copies.push_back(bytes_per_second(
          2, [&] { std::memcpy(own.data(), others[0].data(), kFloats * sizeof(float)); }));
    }
    const double ratio = median(means) / median(copies);
    fmt::print("mean with {} neighbours: {:.1f} GB/s, copy {:.1f} GB/s: ratio {:.2f}\n", neighbours,
               median(means) / 1e9, median(copies) / 1e9, ratio);
    rows.push_back({{"bench", "mean"},
                    {"neighbours", neighbours},
                    {"mean_gb_per_second", median(means) / 1e9},
                    {"copy_gb_per_second", median(copies) / 1e9},
                    {"ratio", ratio}});
  }
  return rows;
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "mean_bench", motley::bench::measure);
}
