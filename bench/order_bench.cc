// What the order of an epoch costs: the first step of a run over a billion samples, and each index,
// beside a shuffled array that all of an epoch is read from.
//
//   order_bench [--quick] [--json FILE]
#include <fmt/format.h>

#include <chrono>
#include <numeric>
#include <vector>

#include "base/random.h"
#include "bench_main.h"
#include "motley/allocate/ledger.h"

namespace motley::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kBatch = 256;

template <class Body>
double seconds_of(Body body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::uint64_t checksum = 0;  // so that no loop is left out

void first_step(std::int64_t samples) {
  Ledger ledger({.dataset = samples, .batch = kBatch, .limit = samples, .seed = 1});
  checksum += ledger.samples(ledger.step_after(0))[0];
}

void epoch_of_steps(std::int64_t samples) {
  Ledger ledger({.dataset = samples, .batch = kBatch, .limit = samples, .seed = 1});
  for (std::int64_t used = 0; used < samples; used += kBatch) {
    checksum += ledger.samples(ledger.step_after(used))[0];
  }
}

void shuffled_epoch(std::int64_t samples) {
  std::vector<SampleIndex> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), SampleIndex{0});
  Random(1).shuffle(std::span(order));
  checksum += order[0];
}

Rows measure(bool quick) {
  Rows rows = Rows::array();
  const int rounds = quick ? 3 : 9;
  std::vector<double> first;
  for (int round = 0; round < rounds; ++round) {
    first.push_back(seconds_of([] { first_step(kBillion); }) * 1e3);
  }
  fmt::print("first step of 10^9 samples: {:.3f} ms\n", median(first));
  rows.push_back({{"bench", "first_step"}, {"samples", kBillion}, {"ms", median(first)}});
  for (const std::int64_t samples : {60'000, 1'000'000, 20'000'000}) {
    std::vector<double> computed;
    std::vector<double> shuffled;
    for (int round = 0; round < rounds; ++round) {
      const double each = 1e9 / static_cast<double>(samples);
      computed.push_back(seconds_of([&] { epoch_of_steps(samples); }) * each);
      shuffled.push_back(seconds_of([&] { shuffled_epoch(samples); }) * each);
    }
    fmt::print("order of {} samples: {:.1f} ns an index, a shuffle {:.1f} ns\n", samples,
               median(computed), median(shuffled));
    rows.push_back({{"bench", "order"},
                    {"samples", samples},
                    {"ns", median(computed)},
                    {"shuffle_ns", median(shuffled)}});
  }
  return rows;
}

}  // namespace
}  // namespace motley::bench

int main(int argc, char** argv) {
  return motley::bench::bench_main(argc, argv, "order_bench", motley::bench::measure);
}
