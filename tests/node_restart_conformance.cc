// Terms: after the activities of a node are ended, it starts again on the same clock and network.
#include <array>
#include <atomic>
#include <stdexcept>

#include "node_conformance.h"

namespace motley::node_restart_conformance {
namespace {

constexpr Channel kData = method_channel(0);
constexpr Channel kSignal = method_channel(1);
constexpr Channel kSilent = method_channel(2);  // nobody sends on it
constexpr Seconds kLong = 1e6;                  // longer than any test

using Terms = std::vector<std::vector<NodeHarness::Body>>;

// The reason in the Interrupted that `call` throws. Fails the test if it does not throw.
template <class Call>
std::string interruption(Call call) {
  try {
    call();
  } catch (const Interrupted& interrupted) {
    EXPECT_EQ(interrupted.peer(), kAnyRank);
    return interrupted.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

// The lost peer for which `call` throws.
template <class Call>
Rank missed(Call call) {
  try {
    call();
  } catch (const Interrupted& interrupted) {
    return interrupted.peer();
  }
  ADD_FAILURE() << "nothing was thrown";
  return kAnyRank;
}

bool has_message(Node& node, Match match) { return node.receive_until(match, 0).has_value(); }

void nothing(Node&) {}

TEST_P(NodeConformance, EndingATermInterruptsEveryBlockedCall) {
  std::atomic<int> interrupted = 0;
  const auto expect_end = [&](const auto& call) {
    EXPECT_EQ(interruption(call), "the term is over");
    EXPECT_EQ(interruption(call), "the term is over") << "later calls throw too";
    ++interrupted;
  };
  const auto blocked = [&](Node& node) {
    node.spawn("receives", [&](Node& own) {
      own.send(0, kSignal, {});
      expect_end([&] { own.receive({kSilent}); });
    });
    node.spawn("waits", [&](Node& own) {
      own.send(0, kSignal, {});
      expect_end([&] { own.receive_until({kSilent, 0}, own.now() + kLong); });
    });
    node.spawn("sleeps", [&](Node& own) {
      own.send(0, kSignal, {});
      expect_end([&] { own.sleep(kLong); });
    });
    node.spawn("computes", [&](Node& own) {
      own.send(0, kSignal, {});
      expect_end([&] { own.busy(kLong, [] {}); });
    });
    expect_end([&] { node.receive({kSilent, 0}); });
  };
  const auto end_the_other = [&](Node& node) {
    for (int i = 0; i < 4; ++i) {
      node.receive({kSignal, 1});
    }
    harness().end_term(1, "the term is over");
    node.receive({kData, 1});
  };
  harness().run({{end_the_other}, {blocked, [](Node& node) { node.send(0, kData, {}); }}});
  EXPECT_EQ(interrupted, 5);
}

TEST_P(NodeConformance, AnEndedTermIsNoFailureEvenIfUncaught) {
  std::atomic<int> begun = 0;
  const auto term = [&](Node& node) {
    ++begun;
    node.spawn("child", [&](Node& child) {
      child.spawn("grandchild", [](Node& own) {
        own.send(0, kSignal, {});
        own.receive({kSilent});
      });
      child.receive({kSilent});
    });
    node.receive({kSilent});
  };
  const auto end_twice = [&](Node& node) {
    for (int i = 0; i < 2; ++i) {
      node.receive({kSignal, 1});
      harness().end_term(1, "over");
    }
  };
  harness().run({{end_twice}, {term, term, [&](Node&) { ++begun; }}});
  EXPECT_EQ(begun, 3);
}

TEST_P(NodeConformance, AnActivityMayEndItsOwnTerm) {
  bool again = false;
  harness().run({{[&](Node& node) {
                    harness().end_term(0, "by itself");
                    EXPECT_EQ(interruption([&] { node.receive({kSilent}); }), "by itself");
                  },
                  [&](Node& node) {
                    node.send(0, kData, {});
                    node.receive({kData, 0});
                    again = true;
                  }}});
  EXPECT_TRUE(again);
}

TEST_P(NodeConformance, ATermBeginsWithAnEmptyMailbox) {
  harness().run({{[](Node& node) {
                   node.send(1, kData, {.tag = 1});
                   node.send(1, kSignal, {});  // arrives after it
                   node.receive({kSignal, 1});
                   node.send(1, kData, {.tag = 2});
                 }},
                 {[&](Node& node) {
                    node.receive({kSignal, 0});
                    node.send(1, kData, {.tag = 1});  // to itself: arrives at once
                  },
                  [](Node& node) {
                    EXPECT_FALSE(has_message(node, {kData}));
                    node.send(0, kSignal, {});
                    EXPECT_EQ(node.receive({kData}).header.tag, 2);
                  }}});
}

// Leftovers of a term do not keep the next one from ending.
TEST_P(NodeConformance, ATermThatReturnsMayBeFollowedByOneThatIsEnded) {
  harness().run({{[&](Node& node) {
                   node.receive({kSignal, 1});
                   harness().end_term(1, "over");
                   node.receive({kData, 1});
                 }},
                 {nothing,
                  [](Node& node) {
                    node.send(0, kSignal, {});
                    node.receive({kSilent});
                  },
                  [](Node& node) { node.send(0, kData, {}); }}});
}

TEST_P(NodeConformance, TheClockGoesOnFromTermToTerm) {
  std::array<Seconds, 3> began{};
  std::vector<NodeHarness::Body> terms;
  for (Seconds& moment : began) {
    terms.push_back([&](Node& node) {
      moment = node.now();
      node.sleep(0.001);
    });
  }
  harness().run({std::move(terms)});
  EXPECT_GE(began[1], began[0] + 0.001);
  EXPECT_GE(began[2], began[1] + 0.001);
}

TEST_P(NodeConformance, ALossOutlivesATermAndForgettingDoesNot) {
  harness().run({{[&](Node& node) {
                    node.receive({kSignal, 1});
                    harness().kill(1);
                    EXPECT_EQ(missed([&] { node.receive({kSilent, 1}); }), 1);
                    node.forget(1);
                    EXPECT_FALSE(has_message(node, {kSilent}));
                  },
                  [](Node& node) {
                    EXPECT_EQ(missed([&] { node.receive({kSilent, 1}); }), 1);
                    EXPECT_EQ(missed([&] { node.receive({kSilent}); }), 1);
                    node.forget(1);
                    EXPECT_FALSE(has_message(node, {kSilent}));
                  }},
                 {[](Node& node) {
                    node.send(0, kSignal, {});
                    node.receive({kSilent});
                  },
                  [](Node&) { ADD_FAILURE() << "a lost rank has no next term"; }}});
}

TEST_P(NodeConformance, NoTermFollowsAStop) {
  std::atomic<int> begun = 0;
  const auto stopped = [&](Node& node) {
    ++begun;
    node.receive({kSilent});
  };
  const Terms terms = {{[&](Node& node) {
                          node.receive({kSignal, 1});
                          harness().stop("the user has had enough");
                          node.receive({kSilent});
                        },
                        stopped},
                       {[&](Node& node) {
                          node.send(0, kSignal, {});
                          node.receive({kSilent});
                        },
                        stopped}};
  EXPECT_EQ(interruption([&] { harness().run(terms); }), "the user has had enough");
  EXPECT_EQ(begun, 0);
}

TEST_P(NodeConformance, AFailureInATermThatIsEndedIsAFailure) {
  const auto breaks = [](Node& node) {
    bool ended = false;
    try {
      node.send(0, kSignal, {});
      node.receive({kSilent});
    } catch (const Interrupted&) {
      ended = true;
    }
    if (ended) {
      throw std::runtime_error("broken");
    }
  };
  const Terms terms = {{[&](Node& node) {
                         node.receive({kSignal, 1});
                         harness().end_term(1, "over");
                         node.receive({kSilent});
                       }},
                       {breaks, nothing}};
  try {
    harness().run(terms);
    ADD_FAILURE() << "nothing was thrown";
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "broken");
  }
}

// All ranks restart again and again in the middle of an exchange; no message crosses terms.
TEST_P(NodeConformance, TermsFollowEachOther) {
  constexpr int kWorkers = 3;
  constexpr int kTerms = 30;
  std::atomic<int> rounds = 0;
  const auto worker = [&](Node& node, int term) {
    node.spawn("service", [](Node& own) {
      for (;;) {
        const Message asked = own.receive({kData});
        own.send(asked.from, kSignal, asked.header);
      }
    });
    const Rank next = (node.rank() + 1) % kWorkers;
    for (int i = 0; i < 5; ++i) {
      const Header header{.tag = term, .a = i};
      node.send(next, kData, header);
      const Message answer = node.receive({kSignal, next});
      EXPECT_EQ(answer.header, header) << "message of another term";
      ++rounds;
    }
    node.send(0, kSilent, {.tag = term});
    if (node.rank() == 0) {
      for (int i = 0; i < kWorkers; ++i) {
        EXPECT_EQ(node.receive({kSilent}).header.tag, term);
      }
      for (Rank rank = 0; rank < kWorkers; ++rank) {
        harness().end_term(rank, "over");
      }
    }
    node.receive({kSilent, node.rank()});
  };
  Terms terms(kWorkers);
  for (auto& of_rank : terms) {
    for (int term = 0; term < kTerms; ++term) {
      of_rank.push_back([&worker, term](Node& node) { worker(node, term); });
    }
  }
  harness().run(std::move(terms));
  EXPECT_EQ(rounds, kWorkers * kTerms * 5);
}

}  // namespace
}  // namespace motley::node_restart_conformance
