// Compares motley's all-reduce with gloo's: same processes, same buffer, same minute.
//
//   all_reduce_bench [--workers N]... [--quick] [--json FILE]
//
// For every number of processes (2, then 4) and every size of sizes.h, the contenders take turns in
// short blocks; a barrier precedes each block, and the order changes every round. A contender's
// time is the median over its blocks (a block lasts as long as in its slowest process), so a
// disturbance hurts one block, not the result. `ratio` is gloo's median over motley's: above 1,
// motley is faster. `best` is the same for their fastest blocks, which are disturbed least; the
// spread is the smallest and largest ratio of one round. The result of every block is checked to
// the last bit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "bench_main.h"
#include "gloo_contender.h"
#include "motley_contender.h"
#include "pattern.h"
#include "processes.h"
#include "shared.h"
#include "sizes.h"

namespace motley::bench {
namespace {

constexpr int kMaxWorkers = 8;
constexpr int kMaxRounds = 64;
constexpr int kContenders = 2;  // motley, gloo
constexpr unsigned kLimitSeconds = 900;
static_assert(std::all_of(kSizes.begin(), kSizes.end(), [](const Size& size) {
  return size.rounds <= kMaxRounds && size.iterations <= kMaxIterations;
}));

struct BenchOptions {
  std::vector<int> workers;
  bool quick = false;
  std::string json_file;
};

// What all processes of a measurement share.
struct Shared {
  // Seconds per all-reduce: each process writes its own; the parent reads them when all have ended.
  double seconds[kSizes.size()][kMaxRounds][kContenders][kMaxWorkers];
};

// One process of a measurement.
class BenchWorker {
 public:
  BenchWorker(int rank, int size, const TemporaryDirectory& rendezvous,
              SharedMemory<Shared>& shared, bool quick)
      : rank_(rank), size_(size), shared_(shared), quick_(quick) {
    contenders_.push_back(make_motley_contender(rank, size, rendezvous.subdirectory("motley")));
    contenders_.push_back(make_gloo_contender(rank, size, rendezvous.subdirectory("gloo")));
  }

  void run() {
    std::vector<float> buffer(kSizes.back().floats());
    for (std::size_t s = 0; s < kSizes.size(); ++s) {
      const std::span<float> values = std::span(buffer).first(kSizes[s].floats());
      for (auto& contender : contenders_) {
        time_block(*contender, values, 1);  // checks the sum before anything is timed
        time_block(*contender, values, std::min(5, kSizes[s].iterations));  // warm-up
      }
      const int rounds = rounds_of(kSizes[s], quick_);
      for (int round = 0; round < rounds; ++round) {
        for (std::size_t turn = 0; turn < kContenders; ++turn) {
          const std::size_t c = round % 2 == 0 ? turn : kContenders - 1 - turn;
          shared_->seconds[s][round][c][rank_] =
              time_block(*contenders_[c], values, kSizes[s].iterations);
        }
      }
    }
    shared_.wait_for_all();  // no process hangs up while another still listens
  }

 private:
  // Seconds per all-reduce.
  double time_block(Contender& contender, std::span<float> values, int iterations) {
    fill_pattern(rank_, values);
    shared_.wait_for_all();
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < iterations; ++i) {
      contender.all_reduce(values);
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    if (const auto i = first_wrong(values, size_, iterations); i < values.size()) {
      throw std::runtime_error(fmt::format("{}: wrong sum at {} of {} floats after {} rounds: {}",
                                           contender.name(), i, values.size(), iterations,
                                           values[i]));
    }
    return elapsed.count() / iterations;
  }

  int rank_;
  int size_;
  SharedMemory<Shared>& shared_;
  bool quick_;
  std::vector<std::unique_ptr<Contender>> contenders_;
};

struct Row {
  int workers;
  std::size_t bytes;
  double motley_us;
  double gloo_us;
  double ratio;
  double best_ratio;
  double least;
  double greatest;
};

Row row_of(const Shared& shared, std::size_t s, int workers, bool quick) {
  std::vector<double> motley;
  std::vector<double> gloo;
  std::vector<double> ratios;
  for (int round = 0; round < rounds_of(kSizes[s], quick); ++round) {
    const auto& blocks = shared.seconds[s][round];
    motley.push_back(*std::max_element(blocks[0], blocks[0] + workers));
    gloo.push_back(*std::max_element(blocks[1], blocks[1] + workers));
    ratios.push_back(gloo.back() / motley.back());
  }
  const auto [least, greatest] = std::minmax_element(ratios.begin(), ratios.end());
  return {.workers = workers,
          .bytes = kSizes[s].bytes,
          .motley_us = 1e6 * median(motley),
          .gloo_us = 1e6 * median(gloo),
          .ratio = median(gloo) / median(motley),
          .best_ratio = *std::min_element(gloo.begin(), gloo.end()) /
                        *std::min_element(motley.begin(), motley.end()),
          .least = *least,
          .greatest = *greatest};
}

std::vector<Row> measure(int workers, bool quick) {
  SharedMemory<Shared> shared(workers);
  TemporaryDirectory rendezvous;
  const bool well = run_processes(workers, kLimitSeconds, [&](int rank) {
    BenchWorker(rank, workers, rendezvous, shared, quick).run();
  });
  if (!well) {
    throw std::runtime_error(fmt::format("all-reduce with {} processes failed", workers));
  }
  std::vector<Row> rows;
  for (std::size_t s = 0; s < kSizes.size(); ++s) {
    rows.push_back(row_of(*shared, s, workers, quick));
  }
  return rows;
}

void print(const std::vector<Row>& rows) {
  fmt::print("{:>9} {:>12} {:>12} {:>12} {:>7} {:>7}   {}\n", "processes", "bytes", "motley us",
             "gloo us", "ratio", "best", "spread");
  for (const Row& row : rows) {
    fmt::print("{:>9} {:>12} {:>12.1f} {:>12.1f} {:>7.2f} {:>7.2f}   {:.2f} .. {:.2f}\n",
               row.workers, row.bytes, row.motley_us, row.gloo_us, row.ratio, row.best_ratio,
               row.least, row.greatest);
  }
  std::fflush(stdout);
}

Rows rows_of(const std::vector<Row>& measured) {
  Rows rows = Rows::array();
  for (const Row& row : measured) {
    rows.push_back({{"bench", "all_reduce"},
                    {"workers", row.workers},
                    {"bytes", row.bytes},
                    {"motley_us", row.motley_us},
                    {"gloo_us", row.gloo_us},
                    {"ratio", row.ratio},
                    {"best_ratio", row.best_ratio},
                    {"least_ratio", row.least},
                    {"greatest_ratio", row.greatest}});
  }
  return rows;
}

// nullopt: print the usage.
std::optional<BenchOptions> parse(int argc, char** argv) {
  BenchOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (flag == "--quick") {
      options.quick = true;
      continue;
    }
    if (value == nullptr) {
      return std::nullopt;
    }
    ++i;
    const int number = std::atoi(value);
    if (flag == "--json") {
      options.json_file = value;
    } else if (flag == "--workers" && (number == 2 || number == 4 || number == 8)) {
      options.workers.push_back(number);
    } else {
      return std::nullopt;
    }
  }
  if (options.workers.empty()) {
    options.workers = {2, 4};
  }
  return options;
}

}  // namespace

int run(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "usage: all_reduce_bench [--workers 2|4|8]... [--quick] [--json FILE]\n");
    return 2;
  }
  std::vector<Row> rows;
  for (const int workers : options->workers) {
    const auto measured = measure(workers, options->quick);
    print(measured);
    rows.insert(rows.end(), measured.begin(), measured.end());
  }
  write_rows(options->json_file, rows_of(rows));
  return 0;
}

}  // namespace motley::bench

int main(int argc, char** argv) {
  try {
    return motley::bench::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "all_reduce_bench: {}\n", e.what());
    return 1;
  }
}
