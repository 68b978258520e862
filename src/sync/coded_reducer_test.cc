#include "sync/coded_reducer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "base/random.h"
#include "job/choices.h"
#include "motley/sync/ashl.h"
#include "motley/sync/collective.h"
#include "sim/cluster.h"
#include "sync/codec_options.h"
#include "tests/own_pace.h"
#include "tests/simulated_job.h"

namespace motley {
namespace {

using Blocks = std::vector<std::vector<float>>;

constexpr std::size_t kTail = Replica::kTail;
constexpr CodecKind kCoded[] = {CodecKind::kFp16, CodecKind::kBf16, CodecKind::kInt8,
                                CodecKind::kTopk};

Blocks random_blocks(int workers, std::size_t size, std::uint64_t seed) {
  Blocks blocks;
  for (Rank rank = 0; rank < workers; ++rank) {
    Random random(seed, static_cast<std::uint64_t>(rank));
    auto& block = blocks.emplace_back(size + kTail);
    for (float& value : block) {
      value = static_cast<float>(random.normal());
    }
  }
  return blocks;
}

// What each worker does with its reducer.
using Body = std::function<void(Node&, Reducer&)>;

void with_reducers(SimCluster& cluster, int workers, const CodecOptions& codec, const Body& body) {
  for (Rank rank = 0; rank < workers; ++rank) {
    cluster.start(rank, [&](Node& node) {
      CodedReducer reducer(node, Channel::kMethod, codec, 1);
      body(node, reducer);
    });
  }
  cluster.run();
}

ClusterSpec cluster_of(int workers) {
  return simulated_job("", equal_speeds(workers), 1, 1).cluster;
}

void sum_once(Blocks& blocks, const CodecOptions& codec, std::uint64_t lateness = 0) {
  const auto workers = static_cast<int>(blocks.size());
  SimCluster cluster(cluster_of(workers));
  Random random(lateness);
  with_reducers(cluster, workers, codec, [&](Node& node, Reducer& reducer) {
    node.sleep(0.01 * random.uniform());
    auto& block = blocks[static_cast<std::size_t>(node.rank())];
    reducer.sum({block.data(), block.size()});
  });
}

// The codecs' error bound for one rounding of a number in a block whose largest is `largest`.
double error_of(CodecKind kind, double number, double largest) {
  switch (kind) {
    case CodecKind::kFp16:
      return std::ldexp(std::abs(number), -11) + std::ldexp(1.0, -25);
    case CodecKind::kBf16:
      return std::ldexp(std::abs(number), -8);
    case CodecKind::kInt8:
      return largest / 127;
    default:
      return 0;  // topk that keeps everything
  }
}

void expect_near_the_sum(const std::vector<float>& result, const Blocks& blocks, CodecKind kind) {
  const auto largest_of = [](const auto& values) {
    double largest = 0;
    for (const auto value : values) {
      largest = std::max(largest, std::abs(static_cast<double>(value)));
    }
    return largest;
  };
  std::vector<double> sum(result.size(), 0.0);
  std::vector<double> error(result.size(), 1e-6);
  for (const auto& block : blocks) {
    const double largest = largest_of(block);
    for (std::size_t i = 0; i < block.size(); ++i) {
      sum[i] += static_cast<double>(block[i]);
      error[i] += error_of(kind, static_cast<double>(block[i]), largest);
    }
  }
  const double largest = largest_of(sum) + largest_of(error);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double bound = error[i] + error_of(kind, std::abs(sum[i]) + error[i], largest);
    ASSERT_NEAR(static_cast<double>(result[i]), sum[i], bound) << i;
  }
}

// Any number of workers, sizes that it does not divide, fewer numbers than workers, no numbers.
TEST(CodedReducer, EveryWorkerEndsWithTheSameBitsNearTheSum) {
  std::uint64_t seed = 0;
  for (const CodecKind kind : kCoded) {
    for (int workers = 1; workers <= 5; ++workers) {
      for (const std::size_t size : {0U, 1U, 2U, 3U, 4U, 7U, 1'000U, 5'003U}) {
        for (const bool feedback : {false, true}) {
          const Blocks before = random_blocks(workers, size, ++seed);
          Blocks blocks = before;
          sum_once(blocks, {kind, 1.0, feedback}, seed);
          for (const auto& block : blocks) {
            ASSERT_EQ(block, blocks.front());
          }
          expect_near_the_sum(blocks.front(), before, kind);
        }
      }
    }
  }
}

TEST(CodedReducer, OneWorkerAloneLosesNothing) {
  for (const CodecKind kind : kCoded) {
    const Blocks before = random_blocks(1, 100, 1);
    Blocks blocks = before;
    sum_once(blocks, {kind, 0.01, true});
    EXPECT_EQ(blocks, before);
  }
}

// Whatever arrives first, and with random rounding.
TEST(CodedReducer, OneSeedIsOneResult) {
  for (const CodecKind kind : kCoded) {
    Blocks once = random_blocks(4, 1'000, 7);
    Blocks again = once;
    sum_once(once, {kind, 0.1, true}, 1);
    sum_once(again, {kind, 0.1, true}, 2);
    EXPECT_EQ(once, again);
  }
}

// Also for topk, which would drop them.
TEST(CodedReducer, TheTailIsExactInTheOrderOfRanks) {
  for (const CodecKind kind : kCoded) {
    Blocks blocks = random_blocks(5, 1'000, 3);
    for (auto& block : blocks) {
      for (std::size_t i = 0; i < 1'000; ++i) {
        block[i] *= 1e6F;
      }
    }
    std::vector<float> tail(kTail, 0.0F);
    for (const auto& block : blocks) {
      for (std::size_t i = 0; i < kTail; ++i) {
        tail[i] += block[1'000 + i];
      }
    }
    sum_once(blocks, {kind, 0.01, true});
    for (const auto& block : blocks) {
      EXPECT_EQ(std::vector<float>(block.begin() + 1'000, block.end()), tail);
    }
  }
}

// Every entry of a sum that topk keeps is one of the largest; the others are zero.
TEST(CodedReducer, TopkSendsTheLargestOfTheSum) {
  Blocks blocks(4, std::vector<float>(400 + kTail, 1.0F));
  for (auto& block : blocks) {
    for (std::size_t chunk = 0; chunk < 4; ++chunk) {
      block[chunk * 100 + 17] = 50;
    }
  }
  sum_once(blocks, {CodecKind::kTopk, 0.01, false});
  for (std::size_t i = 0; i < 400; ++i) {
    EXPECT_EQ(blocks[0][i], i % 100 == 17 ? 200.0F : 0.0F) << i;
  }
}

std::uint64_t bytes_of_a_sum(const Body& body, const CodecOptions& codec, int workers) {
  SimCluster cluster(cluster_of(workers));
  with_reducers(cluster, workers, codec, body);
  for (Rank rank = 1; rank < workers; ++rank) {
    EXPECT_NEAR(static_cast<double>(cluster.bytes_sent(rank)),
                static_cast<double>(cluster.bytes_sent(0)), 16);
  }
  return cluster.bytes_sent(0);
}

TEST(CodedReducer, SendsAsFewBytesAsTheCodecSays) {
  constexpr std::size_t kSize = 250'000;
  const auto plainly = [](Node& node, Reducer&) {
    std::vector<float> block(kSize + kTail, 1.0F);
    Collective(node, Channel::kMethod, all_ranks(4)).sum({block.data(), block.size()});
  };
  const auto coded = [](Node&, Reducer& reducer) {
    std::vector<float> block(kSize + kTail, 1.0F);
    reducer.sum({block.data(), block.size()});
  };
  const auto phantoms = [](Node&, Reducer& reducer) { reducer.sum({nullptr, kSize + kTail}); };
  const auto plain = static_cast<double>(bytes_of_a_sum(plainly, {}, 4));
  // Frames of three messages each way and three tails. With topk they are 3 % of the traffic.
  const double around = 6 * kFrameBytes + 3 * kTail * sizeof(float);
  const std::pair<CodecKind, double> expected[] = {{CodecKind::kFp16, 0.5},
                                                   {CodecKind::kBf16, 0.5},
                                                   {CodecKind::kInt8, 0.25 + 1.0 / 256},
                                                   {CodecKind::kTopk, 0.02}};
  for (const auto& [kind, ratio] : expected) {
    const CodecOptions codec{kind, 0.01, true};
    const std::uint64_t bytes = bytes_of_a_sum(coded, codec, 4);
    EXPECT_NEAR((static_cast<double>(bytes) - around) / plain / ratio, 1.0, 0.005)
        << static_cast<int>(kind);
    EXPECT_LT(static_cast<double>(bytes) / plain, 1.04 * ratio) << static_cast<int>(kind);
    EXPECT_EQ(bytes_of_a_sum(phantoms, codec, 4), bytes) << static_cast<int>(kind);
  }
}

// On the links: two latencies and 2(n-1)/n of the encoded block, as the header says.
TEST(CodedReducer, TakesAsLongAsTheFormulaSays) {
  for (const int n : {2, 4, 8}) {
    ClusterSpec spec = cluster_of(n);
    spec.latency = 1e-3;
    spec.memory_bandwidth = kUnlimited;
    SimCluster cluster(spec);
    with_reducers(cluster, n, {CodecKind::kFp16}, [](Node&, Reducer& reducer) {
      reducer.sum({nullptr, 10'000'000 + kTail});
    });
    const double expected = 2 * (1e-3 + (n - 1) * 2e7 / n / spec.bandwidth.front());
    EXPECT_NEAR(cluster.now() / expected, 1.0, 0.02) << n;
  }
}

// If the gradient stays the same, every entry arrives eventually; without feedback most never do.
TEST(CodedReducer, ErrorFeedbackLosesNothingForGood) {
  constexpr int kWorkers = 4;
  constexpr int kSteps = 400;
  constexpr std::size_t kSize = 200;
  const Blocks gradients = random_blocks(kWorkers, kSize, 11);
  const auto error_after = [&](bool feedback) {
    std::vector<double> total(kSize, 0.0);
    SimCluster cluster(cluster_of(kWorkers));
    with_reducers(cluster, kWorkers, {CodecKind::kTopk, 0.05, feedback},
                  [&](Node& node, Reducer& reducer) {
                    for (int step = 0; step < kSteps; ++step) {
                      auto block = gradients[static_cast<std::size_t>(node.rank())];
                      reducer.sum({block.data(), block.size()});
                      for (std::size_t i = 0; node.rank() == 0 && i < kSize; ++i) {
                        total[i] += static_cast<double>(block[i]) / kSteps;
                      }
                    }
                  });
    double difference = 0;
    double norm = 0;
    for (std::size_t i = 0; i < kSize; ++i) {
      double sum = 0;
      for (const auto& gradient : gradients) {
        sum += static_cast<double>(gradient[i]);
      }
      difference += (total[i] - sum) * (total[i] - sum);
      norm += sum * sum;
    }
    return std::sqrt(difference / norm);
  };
  EXPECT_LT(error_after(true), 0.1);
  EXPECT_GT(error_after(false), 0.5);
}

// The late worker finds everything there.
TEST(CodedReducer, TellsWaitingFromMoving) {
  SimCluster cluster(cluster_of(4));
  with_reducers(cluster, 4, {CodecKind::kInt8}, [](Node& node, Reducer& reducer) {
    node.sleep(node.rank() == 2 ? 1 : 0);
    reducer.sum({nullptr, 1'000'000});
    EXPECT_NEAR(reducer.waited(), node.rank() == 2 ? 0 : 1, 0.01) << node.rank();
  });
}

// Rank 1 sends something else instead.
void expect_damage_to_be_found(const CodecOptions& codec, const Payload& sent) {
  SimCluster cluster(cluster_of(2));
  cluster.start(0, [&](Node& node) {
    CodedReducer reducer(node, Channel::kMethod, codec, 1);
    std::vector<float> block(20 + kTail, 1.0F);
    reducer.sum({block.data(), block.size()});
  });
  cluster.start(1, [&](Node& node) { node.send(0, Channel::kMethod, {}, sent); });
  try {
    cluster.run();
    FAIL() << "the damage was not detected";
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.peer(), 1);
    EXPECT_NE(std::string(interrupted.what()).find("rank 1 arrived damaged"), std::string::npos)
        << interrupted.what();
  }
}

TEST(CodedReducer, DamagedNumbersEndTheRun) {
  const CodecOptions topk{CodecKind::kTopk, 0.5, true};
  const std::size_t right = encoded_size(topk, 10) + kTail * sizeof(float);
  const auto bytes = [](std::size_t size) {
    return Payload::copy_of(std::vector<std::byte>(size, std::byte{0xff}));
  };
  expect_damage_to_be_found(topk, bytes(right));  // far more entries than numbers
  expect_damage_to_be_found(topk, bytes(right + 4));
  expect_damage_to_be_found(topk, bytes(right - 1));
  expect_damage_to_be_found(topk, bytes(3));  // less than a tail
  expect_damage_to_be_found(topk, {});
  expect_damage_to_be_found(topk, Payload::phantom(right));
  expect_damage_to_be_found({CodecKind::kFp16}, bytes(22 + kTail * sizeof(float)));
}

Job coded_job(CodecKind codec, std::vector<double> speeds, std::int64_t steps) {
  Job job = simulated_job("all_reduce", std::move(speeds), 100, steps);
  job.strategy.codec = codec;
  job.strategy.topk.ratio = 0.1;
  return job;
}

TEST(CodedReducer, AllReduceLearnsInEveryCodec) {
  for (const Choice& codec : kCodecs) {
    ToyTask task(1'000, 40, 3, 0.05);
    QuietMonitor monitor;
    const RunOutcome outcome =
        simulate(coded_job(static_cast<CodecKind>(codec.value), {1, 0.5, 2}, 400), task, monitor);
    EXPECT_EQ(outcome.samples, 40'000);
    ASSERT_FALSE(monitor.metrics.empty());
    EXPECT_GT(monitor.metrics.back().accuracy, 0.99) << codec.name;
  }
}

TEST(CodedReducer, AllLeaveTogetherWhenAsked) {
  for (const Choice& codec : kCodecs) {
    ToyTask task(1'000, 10, 3, 0.1);
    QuietMonitor monitor;
    monitor.stop_after_samples = 1'000;
    const RunOutcome outcome = simulate(
        coded_job(static_cast<CodecKind>(codec.value), equal_speeds(4), 10'000), task, monitor);
    EXPECT_EQ(outcome.stopped, "SIGINT");
    EXPECT_LE(outcome.samples, 1'200);
  }
}

TEST(CodedReducer, ALostWorkerEndsTheRun) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    expect_an_end_when_a_worker_is_lost(coded_job(CodecKind::kInt8, {1, 0.5, 2, 1}, 1), seed);
  }
}

TEST(CodecOptions, AreThoseOfTheJob) {
  Job job;
  std::vector<CodecKind> kinds;
  for (const Choice& codec : kCodecs) {
    job.strategy.codec = static_cast<CodecKind>(codec.value);
    kinds.push_back(codec_options_of(job).kind);
  }
  EXPECT_EQ(kinds, (std::vector{CodecKind::kNone, CodecKind::kFp16, CodecKind::kBf16,
                                CodecKind::kInt8, CodecKind::kTopk}));
  job.strategy.topk.ratio = 0.25;
  EXPECT_EQ(codec_options_of(job).ratio, 0.25);
  job.strategy.error_feedback = false;
  EXPECT_FALSE(codec_options_of(job).error_feedback);
  job.strategy.sync = "ashl";
  EXPECT_FALSE(codec_options_of(job).error_feedback);
  job.strategy.of<AshlOptions>().error_feedback = true;
  EXPECT_TRUE(codec_options_of(job).error_feedback);
}

}  // namespace
}  // namespace motley
