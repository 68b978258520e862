#include "node_conformance.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <span>
#include <stdexcept>

#include "node_conformance_tools.h"

namespace motley {

std::string NodeConformance::reason_of_run(std::vector<Body> bodies) {
  try {
    run(std::move(bodies));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

namespace {

using namespace conformance;

// --- Messages ------------------------------------------------------------------------------

TEST_P(NodeConformance, NodesKnowWhoTheyAreAndTheirClockRuns) {
  std::array<std::atomic<int>, 3> seen{};
  run_on_all(3, [&](Node& node) {
    EXPECT_EQ(node.size(), 3);
    ++seen[static_cast<std::size_t>(node.rank())];
    const Seconds before = node.now();
    EXPECT_GE(before, 0);
    node.sleep(0.001);
    EXPECT_GE(node.now(), before + 0.001);
  });
  EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
}

TEST_P(NodeConformance, MessagesArriveInOrderAndWhole) {
  constexpr int kMessages = 3000;
  run({[&](Node& node) {
         Random random(1);
         for (int i = 0; i < kMessages; ++i) {
           const auto bytes = pattern(mixed_size(random), static_cast<std::uint64_t>(i));
           node.send(1, kData, {.tag = i, .a = -i, .b = i * 1'000'000'000'000},
                     Payload::copy_of(bytes));
         }
       },
       [&](Node& node) {
         Random random(1);
         for (std::int64_t i = 0; i < kMessages; ++i) {
           const Message message = node.receive({kData, 0});
           ASSERT_EQ(message.from, 0);
           ASSERT_EQ(message.channel, kData);
           ASSERT_EQ(message.header, (Header{.tag = i, .a = -i, .b = i * 1'000'000'000'000}));
           ASSERT_TRUE(
               has_pattern(message.payload, mixed_size(random), static_cast<std::uint64_t>(i)));
         }
       }});
}

TEST_P(NodeConformance, PayloadsBeginAtAnAddressFitForFloats) {
  run({[](Node& node) {
         for (std::size_t size = 1; size < 40; ++size) {
           const std::vector<float> floats(size, static_cast<float>(size));
           node.send(1, kData, {}, Payload::copy_of(floats));
         }
       },
       [](Node& node) {
         for (std::size_t size = 1; size < 40; ++size) {
           const Message message = node.receive({kData});
           ASSERT_EQ(message.payload.floats().size(), size);
           ASSERT_EQ(message.payload.floats().back(), static_cast<float>(size));
         }
       }});
}

TEST_P(NodeConformance, ChannelsDoNotMix) {
  constexpr int kChannels = 40;
  constexpr int kEach = 10;
  run({[](Node& node) {
         for (int i = 0; i < kEach; ++i) {
           for (int c = 0; c < kChannels; ++c) {
             node.send(1, channel(c), {.tag = i, .a = c});
           }
         }
       },
       [](Node& node) {
         for (int c = kChannels - 1; c >= 0; --c) {
           for (int i = 0; i < kEach; ++i) {
             ASSERT_EQ(node.receive({channel(c)}).header, (Header{.tag = i, .a = c}));
           }
         }
       }});
}

TEST_P(NodeConformance, AReceiveFromOneLeavesMessagesOfOthers) {
  run({[](Node& node) {
         EXPECT_EQ(node.receive({kData, 2}).from, 2);
         EXPECT_EQ(node.receive({kData, 3}).from, 3);
         EXPECT_EQ(node.receive({kData, 1}).from, 1);
       },
       [](Node& node) {
         node.send(0, kData, {});
         node.send(2, kSignal, {});
       },
       [](Node& node) {
         node.receive({kSignal, 1});
         node.send(0, kData, {});
         node.send(3, kSignal, {});
       },
       [](Node& node) {
         node.receive({kSignal, 2});
         node.send(0, kData, {});
       }});
}

TEST_P(NodeConformance, AReceiveFromAnyTakesEverybodysMessagesOnce) {
  constexpr int kEach = 100;
  constexpr int kWorkers = 4;
  run_on_all(kWorkers, [](Node& node) {
    if (node.rank() > 0) {
      for (int i = 0; i < kEach; ++i) {
        node.send(0, kData, {.tag = i});
      }
      return;
    }
    std::map<Rank, std::int64_t> next;
    for (int i = 0; i < kEach * (kWorkers - 1); ++i) {
      const Message message = node.receive({kData});
      ASSERT_EQ(message.header.tag, next[message.from]++);
    }
    EXPECT_EQ(next.size(), static_cast<std::size_t>(kWorkers - 1));
  });
}

TEST_P(NodeConformance, AMessageToOneselfArrives) {
  run_on_all(2, [](Node& node) {
    const auto bytes = pattern(1000, 5);
    node.send(node.rank(), kData, {.tag = 1}, Payload::copy_of(bytes));
    node.send(node.rank(), kData, {.tag = 2});
    const Message message = node.receive({kData, node.rank()});
    EXPECT_EQ(message.header.tag, 1);
    EXPECT_TRUE(has_pattern(message.payload, 1000, 5));
    EXPECT_EQ(node.receive({kData}).header.tag, 2);
  });
}

TEST_P(NodeConformance, ABorrowedPayloadMayBeOverwrittenAfterSend) {
  constexpr int kMessages = 20;
  run({[](Node& node) {
         for (const std::size_t size : {4U, 1000U, 500'000U}) {
           std::vector<float> buffer(size);
           for (int i = 0; i < kMessages; ++i) {
             std::fill(buffer.begin(), buffer.end(), static_cast<float>(i));
             node.send(1, kData, {}, Payload::borrow(buffer));
           }
         }
       },
       [](Node& node) {
         for (const std::size_t size : {4U, 1000U, 500'000U}) {
           for (int i = 0; i < kMessages; ++i) {
             const Message message = node.receive({kData});
             const auto floats = message.payload.floats();
             ASSERT_EQ(floats.size(), size);
             ASSERT_TRUE(std::all_of(floats.begin(), floats.end(),
                                     [&](float each) { return each == static_cast<float>(i); }))
                 << "message " << i;
           }
         }
       }});
}

TEST_P(NodeConformance, AnOwnedPayloadMayGoToManyAndOutlivesItsSender) {
  constexpr int kWorkers = 4;
  constexpr std::size_t kSize = 100'000;
  run_on_all(kWorkers, [](Node& node) {
    if (node.rank() == 0) {
      Payload payload = Payload::copy_of(pattern(kSize, 9));
      for (Rank to = 1; to < kWorkers; ++to) {
        node.send(to, kData, {}, payload);
        node.send(to, kData, {}, payload.from(64));
      }
      EXPECT_TRUE(has_pattern(payload, kSize, 9));
      return;
    }
    const Message whole = node.receive({kData});
    EXPECT_TRUE(has_pattern(whole.payload, kSize, 9));
    const Message rest = node.receive({kData});
    EXPECT_TRUE(std::ranges::equal(rest.payload.bytes(), whole.payload.bytes().subspan(64)));
  });
}

// Everybody sends to everybody, receiving now and then, and checks that each message arrives once.
void talk_to_everybody(Node& node, int messages_each) {
  Random random(77, static_cast<std::uint64_t>(node.rank()));
  std::vector<Rank> plan;
  for (Rank to = 0; to < node.size(); ++to) {
    plan.insert(plan.end(), static_cast<std::size_t>(messages_each), to);
  }
  random.shuffle(std::span(plan));
  std::map<Rank, std::int64_t> sent;
  std::map<Rank, std::int64_t> received;
  const auto check = [&](const Message& message) {
    EXPECT_EQ(message.header.tag, received[message.from]++) << "from " << message.from;
    EXPECT_TRUE(has_pattern(message.payload, static_cast<std::size_t>(message.header.a),
                            static_cast<std::uint64_t>(message.header.b)));
  };
  std::size_t taken = 0;
  for (const Rank to : plan) {
    const std::size_t size = random.below(20'000);
    const std::uint64_t seed = random.below(1U << 30);
    node.send(to, kData,
              {.tag = sent[to]++,
               .a = static_cast<std::int64_t>(size),
               .b = static_cast<std::int64_t>(seed)},
              Payload::copy_of(pattern(size, seed)));
    if (const auto message = node.receive_until({kData}, node.now())) {
      check(*message);
      ++taken;
    }
  }
  for (; taken < plan.size(); ++taken) {
    check(node.receive({kData}));
  }
  EXPECT_FALSE(node.receive_until({kData}, node.now()));
}

TEST_P(NodeConformance, RandomTrafficBetweenAllIsNeitherLostNorDoubled) {
  run_on_all(5, [](Node& node) { talk_to_everybody(node, 150); });
}

// --- Time ----------------------------------------------------------------------------------

TEST_P(NodeConformance, ADeadlineInThePastGivesNothingAtOnce) {
  run_on_all(1, [](Node& node) {
    EXPECT_FALSE(node.receive_until({kSilent}, node.now()));
    EXPECT_FALSE(node.receive_until({kSilent}, node.now() - 100));
  });
}

TEST_P(NodeConformance, ADeadlineInTheFutureGivesNothingThen) {
  run_on_all(1, [](Node& node) {
    const Seconds deadline = node.now() + 0.02;
    EXPECT_FALSE(node.receive_until({kSilent}, deadline));
    EXPECT_GE(node.now(), deadline);
  });
}

TEST_P(NodeConformance, WhatHasArrivedIsHandedOutEvenAfterTheDeadline) {
  run({[](Node& node) {
         node.receive({kSignal});  // sent after the data
         const auto message = node.receive_until({kData}, node.now() - 1);
         ASSERT_TRUE(message);
         EXPECT_EQ(message->header.tag, 3);
       },
       [](Node& node) {
         node.send(0, kData, {.tag = 3});
         node.send(0, kSignal, {});
       }});
}

TEST_P(NodeConformance, AMessageEndsAReceiveBeforeItsDeadline) {
  run({[](Node& node) {
         const Seconds deadline = node.now() + 3600;
         EXPECT_TRUE(node.receive_until({kData}, deadline));
         EXPECT_LT(node.now(), deadline);
       },
       [](Node& node) { node.send(0, kData, {}); }});
}

// --- Computing and activities --------------------------------------------------------------

TEST_P(NodeConformance, BusyRunsItsBodyOnceAndToTheEnd) {
  run_on_all(2, [](Node& node) {
    int runs = 0;
    node.busy(0, [&] { ++runs; });
    EXPECT_EQ(runs, 1);
    node.busy(0.001, [&] { ++runs; });
    EXPECT_EQ(runs, 2);
  });
}

TEST_P(NodeConformance, AnExceptionOfABusyBodyComesOutAsItIs) {
  run_on_all(2, [](Node& node) {
    EXPECT_THROW(node.busy(0.001, [] { throw std::out_of_range("sample"); }), std::out_of_range);
    int runs = 0;
    node.busy(0, [&] { ++runs; });
    EXPECT_EQ(runs, 1);
  });
}

TEST_P(NodeConformance, ProcessRunsItsBodyOnceAndToTheEnd) {
  run_on_all(2, [](Node& node) {
    int runs = 0;
    for (const std::size_t bytes : {0U, 1U, 1'000'000U}) {
      const Seconds began = node.now();
      node.process(bytes, [&] { ++runs; });
      EXPECT_GE(node.now(), began);
    }
    EXPECT_EQ(runs, 3);
  });
}

TEST_P(NodeConformance, AnExceptionOfAProcessingBodyComesOutAsItIs) {
  run_on_all(2, [](Node& node) {
    EXPECT_THROW(node.process(1'000, [] { throw std::out_of_range("place"); }), std::out_of_range);
    int runs = 0;
    node.process(1'000, [&] { ++runs; });
    EXPECT_EQ(runs, 1);
  });
}

// What arrives meanwhile is there afterwards.
TEST_P(NodeConformance, MessagesArriveWhileANodeProcesses) {
  run({[](Node& node) {
         for (int i = 0; i < 100; ++i) {
           node.process(100'000, [] {});
           EXPECT_EQ(node.receive({kData, 1}).header.tag, i);
         }
       },
       [](Node& node) {
         for (int i = 0; i < 100; ++i) {
           node.send(0, kData, {.tag = i});
         }
       }});
}

// Parent and child of rank 0 each wait for the other.
TEST_P(NodeConformance, ASpawnedActivitySharesTheMailboxAndRunsBesideItsParent) {
  run({[](Node& node) {
         node.spawn("echo", [](Node& child) {
           EXPECT_EQ(child.rank(), 0);
           for (int i = 0; i < 100; ++i) {
             const Message message = child.receive({channel(10)});
             child.send(1, channel(11), {.tag = message.header.tag});
           }
         });
         for (int i = 0; i < 100; ++i) {
           EXPECT_EQ(node.receive({channel(12), 1}).header.tag, i);
         }
       },
       [](Node& node) {
         for (int i = 0; i < 100; ++i) {
           node.send(0, channel(10), {.tag = i});
           EXPECT_EQ(node.receive({channel(11), 0}).header.tag, i);
           node.send(0, channel(12), {.tag = i});
         }
       }});
}

TEST_P(NodeConformance, TheRunLastsUntilSpawnedActivitiesHaveReturned) {
  std::atomic<int> ended{0};
  run({[&](Node& node) {
         node.spawn("child", [&](Node& child) {
           child.spawn("grandchild", [&](Node& grandchild) {
             grandchild.receive({kSignal});
             ++ended;
           });
           child.receive({kData});
           ++ended;
         });
         node.send(1, kSignal, {});
         ++ended;
       },
       [](Node& node) {
         node.receive({kSignal});
         node.send(0, kData, {});
         node.send(0, kSignal, {});
       }});
  EXPECT_EQ(ended, 3);
}

}  // namespace
}  // namespace motley
