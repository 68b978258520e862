// One seed gives one trace: random protocols with random faults, run twice, must do the same things
// at the same virtual times in the same order.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "sim/cluster.h"

namespace motley {
namespace {

#if defined(MOTLEY_SANITIZED)
constexpr std::uint64_t kSeeds = 50;
#else
constexpr std::uint64_t kSeeds = 500;
#endif

struct TraceEntry {
  Seconds at;
  Rank rank;
  std::string what;

  friend bool operator==(const TraceEntry&, const TraceEntry&) = default;
};
using Trace = std::vector<TraceEntry>;

Channel channel_number(std::uint64_t n) { return method_channel(static_cast<std::uint16_t>(n)); }

// A worker that acts at random. Durations are few and round numbers, so many events coincide.
class RandomWorker {
 public:
  RandomWorker(Trace& trace, Random random, int depth)
      : trace_(trace), random_(random), depth_(depth) {}

  void operator()(Node& node) {
    for (int i = 0; i < 25; ++i) {
      try {
        act(node);
      } catch (const Interrupted& e) {
        note(node, fmt::format("interrupted by {}: {}", e.peer(), e.what()));
        if (e.peer() == kAnyRank || e.peer() == node.rank()) {
          return;
        }
        node.forget(e.peer());
      }
    }
    note(node, "done");
  }

 private:
  void act(Node& node) {
    switch (random_.below(6)) {
      case 0:
      case 1:
        return send(node);
      case 2:
        return receive(node);
      case 3:
        node.busy(duration(), [&] { note(node, "busy"); });
        return;
      case 4:
        node.sleep(duration());
        return note(node, "slept");
      default:
        if (depth_ < 1) {
          node.spawn("child", RandomWorker(trace_, Random(random_.next()), depth_ + 1));
        }
    }
  }

  void send(Node& node) {
    const auto to = static_cast<Rank>(random_.below(static_cast<std::uint64_t>(node.size())));
    note(node, fmt::format("sends to {}", to));
    node.send(to, channel_number(random_.below(2)), {.tag = node.rank()},
              Payload::phantom(random_.below(4) * 500));
  }

  void receive(Node& node) {
    const auto from =
        random_.below(2) == 0
            ? kAnyRank
            : static_cast<Rank>(random_.below(static_cast<std::uint64_t>(node.size())));
    const auto message =
        node.receive_until({channel_number(random_.below(2)), from}, node.now() + duration());
    note(node, message ? fmt::format("got {} bytes from {}", message->payload.size(), message->from)
                       : "got nothing");
  }

  Seconds duration() { return 0.25 * static_cast<double>(random_.below(5)); }
  void note(Node& node, std::string what) {
    trace_.push_back({node.now(), node.rank(), std::move(what)});
  }

  Trace& trace_;
  Random random_;
  int depth_;
};

struct Outcome {
  Trace trace;
  Seconds end = 0;
  std::uint64_t events = 0;
  std::vector<std::uint64_t> bytes;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome simulate(std::uint64_t seed) {
  Random random(seed);
  ClusterSpec spec;
  spec.workers = 2 + static_cast<int>(random.below(7));
  spec.latency = 0.25;
  for (int i = 0; i < spec.workers; ++i) {
    spec.bandwidth.push_back(random.below(2) == 0 ? 1000 : 2000);
  }
  Outcome outcome;
  SimCluster cluster(spec);
  for (Rank rank = 0; rank < spec.workers; ++rank) {
    cluster.start(
        rank, RandomWorker(outcome.trace, Random(seed, 1 + static_cast<std::uint64_t>(rank)), 0));
  }
  if (random.below(2) == 0) {
    cluster.fail(static_cast<Rank>(random.below(2)), 0.25 * static_cast<double>(random.below(20)),
                 "a fault");
  }
  cluster.run();
  outcome.end = cluster.now();
  outcome.events = cluster.events();
  for (Rank rank = 0; rank < spec.workers; ++rank) {
    outcome.bytes.push_back(cluster.bytes_sent(rank));
  }
  return outcome;
}

TEST(Determinism, TheSameSeedGivesTheSameTrace) {
  std::vector<std::unique_ptr<char[]>> clutter;  // makes addresses differ between the two runs
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Outcome first = simulate(seed);
    clutter.push_back(std::make_unique<char[]>(1 + seed * 37 % 5000));
    const Outcome second = simulate(seed);
    ASSERT_GT(first.trace.size(), 20U);
    ASSERT_EQ(first, second) << "seed " << seed;
  }
}

TEST(Determinism, AnotherSeedGivesAnotherTrace) { EXPECT_NE(simulate(1), simulate(2)); }

TEST(Determinism, TimeNeverGoesBack) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Seconds last = 0;
    for (const TraceEntry& step : simulate(seed).trace) {
      ASSERT_GE(step.at, last) << "seed " << seed;
      last = step.at;
    }
  }
}

TEST(Determinism, HoldsOnSeveralThreadsAtOnce) {
  const Outcome expected = simulate(7);
  std::vector<Outcome> outcomes(4);
  std::vector<std::thread> threads;
  for (auto& outcome : outcomes) {
    threads.emplace_back([&outcome] { outcome = simulate(7); });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome, expected);
  }
}

}  // namespace
}  // namespace motley
