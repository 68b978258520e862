#include "sync/ring_meeting.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "motley/sync/collective.h"
#include "sim/cluster.h"
#include "sim/network.h"

namespace motley {
namespace {

RingEdge edge_of(const Network& network, Rank from, Rank to) {
  RingEdge edge{.links = {}, .latency = network.latency(from, to)};
  for (const auto link : network.path(from, to)) {
    edge.links.push_back({link, network.capacity(link)});
  }
  return edge;
}

RingMeeting::Ground ground_of(SimCluster& cluster) {
  return {.edge_of = [&](Rank from, Rank to) { return edge_of(cluster.network(), from, to); },
          .deliver = [&](Rank to, Seconds at,
                         Message message) { cluster.deliver(to, at, std::move(message)); },
          .occupy = [&](Rank from, Rank to, std::size_t bytes) { cluster.occupy(from, to, bytes); },
          .count_bytes = [&](Rank from, std::size_t bytes) { cluster.count_bytes(from, bytes); }};
}

// A sequence of sums over all workers.
struct Story {
  ClusterSpec spec;
  std::vector<std::size_t> floats;           // of every sum
  std::vector<float> weights;                // of every worker, if they differ from 1
  std::vector<std::vector<Seconds>> pauses;  // before it, by worker
};

struct RingResult {
  std::vector<Seconds> done;    // by sum and worker
  std::vector<Seconds> waited;  // by worker
  std::vector<std::uint64_t> bytes;
  std::uint64_t events = 0;
};

RingResult tell(const Story& story, bool meets) {
  const auto workers = static_cast<std::size_t>(story.spec.workers);
  RingResult told;
  told.done.resize(workers * story.floats.size());
  told.waited.resize(workers);
  SimCluster cluster(story.spec);
  RingMeeting meeting(story.spec.workers, ground_of(cluster));
  for (std::size_t i = 0; i < workers; ++i) {
    cluster.start(static_cast<Rank>(i), [&, i](Node& node) {
      Collective collective(node, Channel::kMethod, meets ? &meeting : nullptr);
      for (std::size_t sum = 0; sum < story.floats.size(); ++sum) {
        node.sleep(story.pauses[sum][i]);
        collective.sum({nullptr, story.floats[sum]}, story.weights.empty() ? 1 : story.weights[i]);
        told.done[sum * workers + i] = node.now();
      }
      told.waited[i] = collective.waited();
    });
  }
  cluster.run();
  for (std::size_t i = 0; i < workers; ++i) {
    told.bytes.push_back(cluster.bytes_sent(static_cast<Rank>(i)));
  }
  told.events = cluster.events();
  return told;
}

Story random_story(Random& random) {
  Story story;
  const auto workers = 2 + static_cast<std::size_t>(random.below(23));
  story.spec.workers = static_cast<int>(workers);
  story.spec.latency = random.below(4) == 0 ? 0 : std::pow(10, -6 + 4 * random.uniform());
  if (random.below(4) > 0) {
    for (std::size_t i = 0; i < workers; ++i) {
      story.spec.bandwidth.push_back(std::pow(10, 7 + 2 * random.uniform()));
    }
  }
  if (random.below(2) == 0) {
    std::generate_n(std::back_inserter(story.weights), workers,
                    [&] { return static_cast<float>(random.below(3)); });
  }
  for (int sum = 0; sum < 3; ++sum) {
    story.floats.push_back(16'385 + static_cast<std::size_t>(random.below(200'000)));
    const double longest = random.below(3) == 0 ? 0 : std::pow(10, -5 + 4 * random.uniform());
    auto& pauses = story.pauses.emplace_back();
    std::generate_n(std::back_inserter(pauses), workers,
                    [&] { return longest * random.uniform(); });
  }
  return story;
}

bool same(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), 1e-6); }

// A meeting cannot be told from messages: for any arrival times, over any links, and again while
// others are still in the previous sum.
RC_GTEST_PROP(RingMeeting, IsAsLongAsTheRingMessageByMessage, ()) {
  Random random(*rc::gen::arbitrary<std::uint32_t>());
  const Story story = random_story(random);
  const RingResult played = tell(story, false);
  const RingResult met = tell(story, true);
  RC_ASSERT(std::ranges::equal(played.done, met.done, same));
  RC_ASSERT(std::ranges::equal(played.waited, met.waited, same));
  RC_ASSERT(played.bytes == met.bytes);
  RC_ASSERT(met.events < played.events);
}

// A meeting is one event per worker.
TEST(RingMeeting, TakesOneEventAWorker) {
  Story story;
  story.spec.workers = 300;
  story.floats = {20'000, 20'000};
  story.pauses.assign(2, std::vector<Seconds>(300, 0.5));
  EXPECT_EQ(tell(story, true).events, 2 * (300U + 300U));  // sleeps and sums
}

TEST(RingMeeting, SmallBlocksAreStillSent) {
  Story story;
  story.spec.workers = 16;
  story.floats = {100};
  story.pauses.assign(1, std::vector<Seconds>(16, 0.0));
  EXPECT_EQ(tell(story, true).events, tell(story, false).events);
}

// With fewer floats than members some have no chunk to pass on, and send no message.
TEST(RingTimes, EmptyChunksAreNotSent) {
  std::vector<RingMember> members(5);
  members[2].at = 7;
  for (RingMember& member : members) {
    member.edge.latency = 0.25;
  }
  pass_round_ring(members, 3);
  std::uint64_t bytes = 0;
  for (const RingMember& member : members) {
    bytes += member.bytes;
    EXPECT_GE(member.at, 7);
    EXPECT_LE(member.at, 7 + 8 * 0.25);
  }
  EXPECT_EQ(bytes, 24 * (sizeof(float) + kFrameBytes));
}

TEST(RingMeeting, EndsWithTheRunAndWithALostWorker) {
  for (const bool fails : {true, false}) {
    ClusterSpec spec;
    spec.workers = 5;
    SimCluster cluster(spec);
    RingMeeting meeting(5, ground_of(cluster));
    int sums = 0;
    for (Rank rank = 0; rank < 5; ++rank) {
      cluster.start(rank, [&](Node& node) {
        Collective collective(node, Channel::kMethod, &meeting);
        for (;;) {
          node.sleep(0.01);
          collective.sum({nullptr, 1'000'000});
          ++sums;
        }
      });
    }
    if (fails) {
      cluster.fail(3, 0.5, "gone");
    } else {
      cluster.poll([&] { return sums > 100; });
    }
    EXPECT_THROW(cluster.run(), Interrupted) << fails;
    EXPECT_GT(sums, 50);
  }
}

}  // namespace
}  // namespace motley
