#include "sim/network.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "base/random.h"

namespace motley::network_test {
namespace {

constexpr Seconds kLatency = 0.5;

ClusterSpec cluster_of(std::vector<double> bandwidth) {
  ClusterSpec spec;
  spec.workers = static_cast<int>(bandwidth.size());
  spec.bandwidth = std::move(bandwidth);
  spec.latency = kLatency;
  return spec;
}

// Sends messages at their times and notes when each arrives.
class SentMessages {
 public:
  explicit SentMessages(const ClusterSpec& spec, int servers = 0) : network_(spec, servers) {}

  Network::MessageId send(Rank from, Rank to, std::size_t bytes, Seconds at = 0) {
    drain(at);
    const auto message = static_cast<Network::MessageId>(arrivals_.size());
    arrivals_.push_back(-1);
    if (const auto arrives = network_.send(message, from, to, bytes, at)) {
      arrivals_[message] = *arrives;
    }
    return message;
  }

  const std::vector<Seconds>& arrivals() {
    drain(1e9);
    return arrivals_;
  }
  Network& network() { return network_; }

  void drain(Seconds until) {
    while (network_.next_departure() <= until) {
      const Seconds now = network_.next_departure();
      while (const auto departure = network_.take_departure(now)) {
        arrivals_[departure->message] = departure->arrives;
      }
    }
  }

 private:
  Network network_;
  std::vector<Seconds> arrivals_;
};

TEST(Network, AMessageTakesItsBytesAndALatency) {
  SentMessages traffic(cluster_of({100, 100}));
  traffic.send(0, 1, 200, 1.0);
  EXPECT_DOUBLE_EQ(traffic.arrivals()[0], 1.0 + 2.0 + kLatency);
}

TEST(Network, TheSlowerOfTheTwoLinksDecides) {
  for (const auto& bandwidth : {std::vector<double>{10, 100}, {100, 10}}) {
    SentMessages traffic(cluster_of(bandwidth));
    traffic.send(0, 1, 200);
    EXPECT_DOUBLE_EQ(traffic.arrivals()[0], kLatency + 20.0);
  }
}

TEST(Network, MessagesOfAConnectionGoOneAfterTheOther) {
  SentMessages traffic(cluster_of({100, 100}));
  traffic.send(0, 1, 100);
  traffic.send(0, 1, 300);
  traffic.send(0, 1, 100);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{1 + kLatency, 4 + kLatency, 5 + kLatency}));
}

TEST(Network, ConnectionsShareAnUplink) {
  SentMessages traffic(cluster_of({100, 100, 100}));
  traffic.send(0, 1, 100);
  traffic.send(0, 2, 300);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{2 + kLatency, 4 + kLatency}));
}

TEST(Network, ConnectionsShareADownlink) {
  SentMessages traffic(cluster_of({100, 100, 100}));
  traffic.send(0, 2, 100);
  traffic.send(1, 2, 100, 0.5);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{1.5 + kLatency, 2 + kLatency}));
}

TEST(Network, BothDirectionsOfAMachineAreIndependent) {
  SentMessages traffic(cluster_of({100, 100}));
  traffic.send(0, 1, 100);
  traffic.send(1, 0, 100);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{1 + kLatency, 1 + kLatency}));
}

TEST(Network, UpAndDownMayDiffer) {
  ClusterSpec spec = cluster_of({100, 100});
  spec.bandwidth_up = {10, 100};
  spec.bandwidth_down = {50, 100};
  SentMessages traffic(spec);
  traffic.send(0, 1, 100);
  traffic.send(1, 0, 100);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{10 + kLatency, 2 + kLatency}));
}

TEST(Network, UnlimitedLinksTakeTheLatencyAlone) {
  ClusterSpec spec = cluster_of({1, 1});
  spec.bandwidth.clear();
  SentMessages traffic(spec);
  traffic.send(0, 1, 1'000'000'000, 3);
  EXPECT_DOUBLE_EQ(traffic.arrivals()[0], 3 + kLatency);
}

TEST(Network, TheCoordinatorHasNoLinks) {
  SentMessages traffic(cluster_of({100, 100}));
  traffic.send(0, kCoordinator, 100);
  traffic.send(1, kCoordinator, 100);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{1 + kLatency, 1 + kLatency}));
}

TEST(Network, ServersHaveTheFastestWorkersLinkOrTheirOwn) {
  SentMessages as_workers(cluster_of({50, 100}), 1);
  as_workers.send(1, 2, 100);
  EXPECT_DOUBLE_EQ(as_workers.arrivals()[0], 1 + kLatency);
  ClusterSpec spec = cluster_of({50, 100});
  spec.server_bandwidth = 20;
  SentMessages slow_server(spec, 1);
  slow_server.send(1, 2, 100);
  EXPECT_DOUBLE_EQ(slow_server.arrivals()[0], 5 + kLatency);
}

TEST(Network, WorkersOfAMachineShareItsLink) {
  ClusterSpec spec = cluster_of({100, 100, 100, 100, 100});
  spec.hosts = {7, 7, 7, 7, 3};
  SentMessages traffic(spec);
  for (Rank rank = 0; rank < 4; ++rank) {
    traffic.send(rank, 4, 100);
  }
  for (const Seconds arrival : traffic.arrivals()) {
    EXPECT_DOUBLE_EQ(arrival, 4 + kLatency);
  }
}

TEST(Network, WithinAMachineMessagesCrossItsMemory) {
  ClusterSpec spec = cluster_of({1, 1, 1});
  spec.hosts = {0, 0, 1};
  spec.memory_bandwidth = 1000;
  spec.memory_latency = 0.125;
  SentMessages traffic(spec);
  traffic.send(0, 1, 1000);
  traffic.send(1, 0, 1000);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{2.125, 2.125}));
}

TEST(Network, AServerMayStandOnAWorkersMachine) {
  ClusterSpec spec = cluster_of({100, 100});
  spec.hosts = {0, 1};
  spec.server_hosts = {1};
  spec.memory_bandwidth = 1000;
  spec.memory_latency = 0;
  SentMessages traffic(spec, 1);
  traffic.send(0, 2, 100);
  traffic.send(0, 1, 100);  // the same downlink
  traffic.send(1, 2, 100);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{2 + kLatency, 2 + kLatency, 0.1}));
}

TEST(Network, TheBackboneLimitsWhatCrossesBetweenMachines) {
  ClusterSpec spec = cluster_of({100, 100, 100, 100});
  spec.backbone = 100;
  SentMessages traffic(spec);
  for (Rank rank = 0; rank < 4; ++rank) {
    traffic.send(rank, (rank + 1) % 4, 100);
  }
  traffic.send(0, kCoordinator, 1);  // does not cross it
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(traffic.arrivals()[i], 4 + kLatency);
  }
}

TEST(Network, TcpLeavesAPartOfTheBandwidth) {
  ClusterSpec spec = cluster_of({100, 100});
  spec.tcp_efficiency = 0.5;
  SentMessages traffic(spec);
  traffic.send(0, 1, 100);
  EXPECT_DOUBLE_EQ(traffic.arrivals()[0], 2 + kLatency);
}

TEST(Network, ALinkThatChangesChangesWhatIsUnderWay) {
  SentMessages traffic(cluster_of({100, 100}));
  traffic.send(0, 1, 200);
  traffic.network().change_bandwidth(1, 10, 1);
  EXPECT_DOUBLE_EQ(traffic.arrivals()[0], 1 + 10 + kLatency);
}

// Also those that are on their way when it falls for the first time.
TEST(Network, MessagesStayInOrderWhenTheLatencyFalls) {
  ClusterSpec spec = cluster_of({100, 100});
  spec.latency = 5;
  spec.events = {{.at = 1, .kind = EventKind::kLatency, .worker = 1, .latency = 0}};
  SentMessages traffic(spec);
  traffic.send(0, 1, 100);
  traffic.drain(1);
  traffic.network().change_latency(0, 0);
  traffic.network().change_latency(1, 0);
  traffic.send(0, 1, 100, 2);
  EXPECT_EQ(traffic.arrivals(), (std::vector<Seconds>{6, 6}));
}

TEST(Network, LatenciesWithinAMachineDoNotCountForServers) {
  ClusterSpec spec = cluster_of({100, 100, 100});
  spec.hosts = {0, 0, 1};
  spec.latency = Latency::matrix(3, {9, 9, 2, 9, 9, 3, 2, 3, 9});
  Network network(spec, 1);
  EXPECT_EQ(network.latency(0, 3), 2);
  EXPECT_EQ(network.latency(3, 1), 3);
  EXPECT_EQ(network.latency(2, kCoordinator), 3);
  EXPECT_EQ(network.latency(0, 2), 2);
}

TEST(Network, ARankThatIsCutOffLosesWhatHasNotLeft) {
  SentMessages traffic(cluster_of({100, 100, 100}));
  traffic.send(0, 1, 100);
  const auto second = traffic.send(0, 1, 100);
  const auto third = traffic.send(0, 1, 100);
  const auto towards = traffic.send(2, 0, 1000);
  const auto other = traffic.send(2, 1, 200, 1);
  traffic.drain(1.5);
  auto lost = traffic.network().cut(0, 1.75);
  std::ranges::sort(lost);
  EXPECT_EQ(lost, (std::vector{second, third, towards}));
  EXPECT_DOUBLE_EQ(traffic.arrivals()[other], 1.75 + (200 - 37.5) / 100 + kLatency);
}

// Whatever is sent: each connection delivers in order, and no link carries more than it can.
RC_GTEST_PROP(Network, KeepsOrderAndNeverExceedsALink, (std::uint64_t seed)) {
  Random random(seed);
  const int workers = 2 + static_cast<int>(random.below(6));
  std::vector<double> bandwidth;
  for (int i = 0; i < workers; ++i) {
    bandwidth.push_back(10 + static_cast<double>(random.below(1000)));
  }
  SentMessages traffic(cluster_of(bandwidth));
  std::map<std::pair<Rank, Rank>, std::vector<Network::MessageId>> sent;
  std::vector<double> up(bandwidth.size(), 0);
  Seconds now = 0;
  for (int i = 0; i < 60; ++i) {
    now += random.below(3) == 0 ? random.uniform() : 0;
    const auto from = static_cast<Rank>(random.below(static_cast<std::uint64_t>(workers)));
    const auto to = static_cast<Rank>((static_cast<std::uint64_t>(from) + 1 +
                                       random.below(static_cast<std::uint64_t>(workers - 1))) %
                                      static_cast<std::uint64_t>(workers));
    const auto bytes = 1 + random.below(500);
    sent[{from, to}].push_back(traffic.send(from, to, bytes, now));
    up[static_cast<std::size_t>(from)] += static_cast<double>(bytes);
  }
  const std::vector<Seconds>& arrivals = traffic.arrivals();
  for (const auto& [connection, messages] : sent) {
    for (std::size_t i = 1; i < messages.size(); ++i) {
      RC_ASSERT(arrivals[messages[i - 1]] < arrivals[messages[i]]);
    }
  }
  const Seconds last = std::ranges::max(arrivals) - kLatency;
  for (std::size_t i = 0; i < up.size(); ++i) {
    RC_ASSERT(up[i] <= bandwidth[i] * last * (1 + 1e-9));
  }
}

}  // namespace
}  // namespace motley::network_test
