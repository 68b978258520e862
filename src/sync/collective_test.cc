#include "motley/sync/collective.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "base/random.h"
#include "sim/cluster.h"

namespace motley::collective_test {
namespace {

ClusterSpec uniform_cluster(int workers, Seconds latency = 1e-4, double bandwidth = 1e9) {
  ClusterSpec spec;
  spec.workers = workers;
  spec.speeds.assign(static_cast<std::size_t>(workers), 1.0);
  spec.latency = latency;
  spec.bandwidth.assign(static_cast<std::size_t>(workers), bandwidth);
  return spec;
}

std::vector<float> random_block(std::size_t size, std::uint64_t seed, std::uint64_t stream) {
  Random random(seed, stream);
  std::vector<float> block(size);
  for (float& value : block) {
    value = static_cast<float>(random.normal());
  }
  return block;
}

// Any number of workers, any subset in any order, small and large blocks: every member gets the
// sum, weighted or not, with the same bits; the others are not affected.
RC_GTEST_PROP(Collective, SumsOverAnyGroupToTheSameBits, ()) {
  const int workers = *rc::gen::inRange(1, 12);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto size = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 40),
                                    rc::gen::inRange<std::size_t>(16'000, 17'000),
                                    rc::gen::inRange<std::size_t>(60'000, 300'000));
  Random random(seed);
  auto members = all_ranks(workers);
  random.shuffle(std::span(members));
  members.resize(static_cast<std::size_t>(*rc::gen::inRange(1, workers + 1)));

  std::vector<std::vector<float>> blocks;
  std::vector<float> weights;
  std::vector<double> expected(size, 0.0);
  const bool is_weighted = *rc::gen::arbitrary<bool>();
  for (Rank rank = 0; rank < workers; ++rank) {
    blocks.push_back(random_block(size, seed, static_cast<std::uint64_t>(rank)));
    weights.push_back(is_weighted ? static_cast<float>(random.below(5)) * 0.25F : 1.0F);
  }
  for (Rank rank : members) {
    const auto r = static_cast<std::size_t>(rank);
    for (std::size_t i = 0; i < size; ++i) {
      expected[i] += static_cast<double>(weights[r]) * static_cast<double>(blocks[r][i]);
    }
  }
  SimCluster cluster(uniform_cluster(workers));
  for (Rank rank : members) {
    cluster.start(rank, [&, rank](Node& node) {
      node.sleep(random.uniform() * 0.01);
      const auto r = static_cast<std::size_t>(rank);
      Collective(node, Channel::kMethod, members)
          .sum({blocks[r].data(), blocks[r].size()}, weights[r]);
    });
  }
  cluster.run();
  const auto& first = blocks[static_cast<std::size_t>(members.front())];
  for (Rank rank : members) {
    RC_ASSERT(blocks[static_cast<std::size_t>(rank)] == first);
  }
  for (std::size_t i = 0; i < size; ++i) {
    RC_ASSERT(std::abs(static_cast<double>(first[i]) - expected[i]) <= 1e-4);
  }
}

TEST(Collective, RepeatedSumsDoNotMix) {
  constexpr int kWorkers = 5;
  SimCluster cluster(uniform_cluster(kWorkers));
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    cluster.start(rank, [](Node& node) {
      Collective collective(node, Channel::kMethod, all_ranks(kWorkers));
      for (int round = 1; round <= 50; ++round) {
        const std::size_t size = round % 2 == 0 ? 10 : 70'000;
        std::vector<float> block(size, static_cast<float>(round));
        collective.sum({block.data(), block.size()});
        EXPECT_EQ(block.front(), static_cast<float>(round * kWorkers));
        EXPECT_EQ(block.back(), static_cast<float>(round * kWorkers));
      }
    });
  }
  cluster.run();
}

// Ring: 2(n-1) rounds of latency and 1/n of the block, as the header says.
TEST(Collective, RingTakesAsLongAsTheFormulaSays) {
  for (int n : {2, 3, 4, 8, 16}) {
    for (double latency : {0.0, 50e-6, 1e-3}) {
      const double bandwidth = 1.25e9;
      const std::size_t parameters = 1'000'000;
      SimCluster cluster(uniform_cluster(n, latency, bandwidth));
      for (Rank rank = 0; rank < n; ++rank) {
        cluster.start(rank, [&](Node& node) {
          Collective(node, Channel::kMethod, all_ranks(n)).sum({nullptr, parameters});
        });
      }
      cluster.run();
      const double expected =
          2 * (n - 1) * (latency + 4.0 * static_cast<double>(parameters) / n / bandwidth);
      EXPECT_NEAR(cluster.now() / expected, 1.0, 0.02) << n << " workers, latency " << latency;
    }
  }
}

// A block with data takes as long as a phantom of its size: segments cost nothing.
TEST(Collective, SegmentsCostNoTime) {
  constexpr int kWorkers = 4;
  auto time_of = [&](bool phantom) {
    std::vector<std::vector<float>> blocks(kWorkers, std::vector<float>(3'000'000, 1.0F));
    SimCluster cluster(uniform_cluster(kWorkers, 50e-6, 1.25e9));
    for (Rank rank = 0; rank < kWorkers; ++rank) {
      cluster.start(rank, [&, rank](Node& node) {
        auto& block = blocks[static_cast<std::size_t>(rank)];
        Collective(node, Channel::kMethod, all_ranks(kWorkers))
            .sum({phantom ? nullptr : block.data(), block.size()});
      });
    }
    cluster.run();
    return cluster.now();
  };
  EXPECT_NEAR(time_of(false) / time_of(true), 1.0, 0.01);
}

// One member comes a second late: the others waited for that second, it did not wait at all, for
// any number of members and any late one.
TEST(Collective, TellsWaitingFromMovingBytes) {
  for (std::size_t size : {std::size_t{1'000}, std::size_t{1'000'000}}) {
    for (int workers = 2; workers <= 7; ++workers) {
      for (Rank late = 0; late < workers; ++late) {
        std::vector<Seconds> waited(static_cast<std::size_t>(workers));
        SimCluster cluster(uniform_cluster(workers));
        for (Rank rank = 0; rank < workers; ++rank) {
          cluster.start(rank, [&, rank](Node& node) {
            Collective collective(node, Channel::kMethod, all_ranks(workers));
            node.sleep(rank == late ? 1.0 : 0.0);
            collective.sum({nullptr, size});
            waited[static_cast<std::size_t>(rank)] = collective.waited();
          });
        }
        cluster.run();
        for (Rank rank = 0; rank < workers; ++rank) {
          EXPECT_NEAR(waited[static_cast<std::size_t>(rank)], rank == late ? 0.0 : 1.0, 0.02)
              << size << " floats, " << workers << " workers, rank " << late << " is late";
        }
      }
    }
  }
}

TEST(Collective, ALostMemberInterruptsTheOthers) {
  constexpr int kWorkers = 4;
  SimCluster cluster(uniform_cluster(kWorkers));
  int interrupted = 0;
  for (Rank rank = 0; rank < kWorkers; ++rank) {
    cluster.start(rank, [&](Node& node) {
      std::vector<float> block(1'000'000, 1.0F);
      Collective collective(node, Channel::kMethod, all_ranks(kWorkers));
      try {
        for (;;) {
          node.sleep(0.001);
          collective.sum({block.data(), block.size()});
        }
      } catch (const Interrupted&) {
        ++interrupted;
        throw;
      }
    });
  }
  cluster.fail(1, 0.1, "gone");
  EXPECT_THROW(cluster.run(), Interrupted);
  EXPECT_GE(interrupted, 1);
}

}  // namespace
}  // namespace motley::collective_test
