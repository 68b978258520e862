#include "sim/network.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/random.h"

namespace motley::network_test {
namespace {

constexpr Seconds kLatency = 0.5;

// Sends while nothing else is on its way to the receiver.
Seconds cross(Network& network, Rank from, Rank to, std::size_t bytes, Seconds now) {
  return network.arrive(to, bytes, network.depart(from, bytes, now));
}

TEST(Network, AMessageTakesALatencyAndItsBytes) {
  Network network(2, kLatency, {100, 100});
  EXPECT_DOUBLE_EQ(cross(network, 0, 1, 200, 1.0), 1.0 + kLatency + 2.0);
}

TEST(Network, TheSlowerOfTheTwoLinksDecides) {
  Network slow_sender(2, kLatency, {10, 100});
  EXPECT_DOUBLE_EQ(cross(slow_sender, 0, 1, 200, 0), kLatency + 20.0);
  Network slow_receiver(2, kLatency, {100, 10});
  EXPECT_DOUBLE_EQ(cross(slow_receiver, 0, 1, 200, 0), kLatency + 20.0);
}

TEST(Network, AnUplinkSerialises) {
  Network network(3, kLatency, {100, 100, 100});
  const auto first = network.depart(0, 100, 0);
  const auto second = network.depart(0, 100, 0);
  EXPECT_DOUBLE_EQ(first.left, 1);
  EXPECT_DOUBLE_EQ(second.head, 1 + kLatency);
  EXPECT_DOUBLE_EQ(second.left, 2);
  EXPECT_DOUBLE_EQ(network.arrive(1, 100, first), 1 + kLatency);
  EXPECT_DOUBLE_EQ(network.arrive(2, 100, second), 2 + kLatency);
}

TEST(Network, AnIdleUplinkStartsAtOnce) {
  Network network(2, kLatency, {100, 100});
  cross(network, 0, 1, 100, 0);
  EXPECT_DOUBLE_EQ(cross(network, 0, 1, 100, 7), 8 + kLatency);
}

TEST(Network, ADownlinkSerialises) {
  Network network(3, kLatency, {100, 100, 100});
  const auto from_0 = network.depart(0, 100, 0);
  const auto from_1 = network.depart(1, 100, 0.25);
  EXPECT_DOUBLE_EQ(network.arrive(2, 100, from_0), 1 + kLatency);
  EXPECT_DOUBLE_EQ(network.arrive(2, 100, from_1), 2 + kLatency);
}

TEST(Network, BothDirectionsOfAHostAreIndependent) {
  Network network(2, kLatency, {100, 100});
  const auto there = network.depart(0, 100, 0);
  const auto back = network.depart(1, 100, 0);
  EXPECT_DOUBLE_EQ(network.arrive(1, 100, there), 1 + kLatency);
  EXPECT_DOUBLE_EQ(network.arrive(0, 100, back), 1 + kLatency);
}

TEST(Network, SlowSendersShareAFastDownlink) {
  Network network(3, kLatency, {10, 10, 100});
  const auto from_0 = network.depart(0, 100, 0);
  const auto from_1 = network.depart(1, 100, 0);
  EXPECT_DOUBLE_EQ(network.arrive(2, 100, from_0), 10 + kLatency);
  EXPECT_DOUBLE_EQ(network.arrive(2, 100, from_1), 10 + kLatency);
}

TEST(Network, TheCoordinatorHasLatencyOnly) {
  Network network(2, kLatency, {100, 100});
  EXPECT_DOUBLE_EQ(cross(network, kCoordinator, 0, 100, 0), kLatency + 1);  // worker's downlink
  EXPECT_DOUBLE_EQ(cross(network, 0, kCoordinator, 100, 0), kLatency + 1);  // worker's uplink
  EXPECT_DOUBLE_EQ(network.depart(kCoordinator, 1 << 30, 5).left, 5);
}

TEST(Network, NoBandwidthMeansUnlimited) {
  Network network(2, kLatency, {});
  EXPECT_DOUBLE_EQ(cross(network, 0, 1, 1 << 30, 0), kLatency);
}

TEST(Network, CountsWhatEachRankSends) {
  Network network(2, kLatency, {});
  network.depart(0, 10, 0);
  network.depart(0, 20, 0);
  network.depart(kCoordinator, 5, 0);
  EXPECT_EQ(network.link(0).bytes_sent, 30U);
  EXPECT_EQ(network.link(1).bytes_sent, 0U);
  EXPECT_EQ(network.link(kCoordinator).bytes_sent, 5U);
}

// For any traffic: order per pair is kept, and no message is faster than its links allow.
TEST(Network, KeepsOrderAndBoundsForRandomTraffic) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    const int workers = 2 + static_cast<int>(random.below(4));
    std::vector<double> bandwidth;
    for (int i = 0; i < workers; ++i) {
      bandwidth.push_back(1 + static_cast<double>(random.below(100)));
    }
    Network network(workers, kLatency, bandwidth);
    struct Sent {
      Rank from, to;
      std::size_t bytes;
      Seconds at;
      Crossing crossing;
    };
    std::vector<Sent> messages;
    Seconds now = 0;
    for (int i = 0; i < 200; ++i) {
      const auto from = static_cast<Rank>(random.below(static_cast<std::uint64_t>(workers)));
      const auto to = static_cast<Rank>(random.below(static_cast<std::uint64_t>(workers)));
      const std::size_t bytes = random.below(50);
      now += random.uniform();
      messages.push_back({from, to, bytes, now, network.depart(from, bytes, now)});
    }
    std::stable_sort(messages.begin(), messages.end(), [](const Sent& a, const Sent& b) {
      return a.crossing.head < b.crossing.head;
    });
    std::vector<std::vector<Seconds>> last(static_cast<std::size_t>(workers),
                                           std::vector<Seconds>(static_cast<std::size_t>(workers)));
    for (const Sent& each : messages) {
      const Seconds complete = network.arrive(each.to, each.bytes, each.crossing);
      const auto from = static_cast<std::size_t>(each.from);
      const auto to = static_cast<std::size_t>(each.to);
      const double slower = std::min(bandwidth[from], bandwidth[to]);
      ASSERT_GE(complete + 1e-9, each.at + kLatency + static_cast<double>(each.bytes) / slower);
      ASSERT_GE(complete, last[from][to]) << "seed " << seed;
      last[from][to] = complete;
    }
  }
}

}  // namespace
}  // namespace motley::network_test
