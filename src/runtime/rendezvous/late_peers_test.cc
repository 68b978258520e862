// Peers that come while a run goes on.
#include <gtest/gtest.h>

#include "tests/rendezvous_tools.h"

namespace motley::rendezvous_test {
namespace {

// A run of two that goes on and lets peers in.
std::unique_ptr<Rendezvous> open_for_late_peers(const RendezvousRules& rules) {
  auto rendezvous = open_rendezvous(rules);
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
  rendezvous->let_late_in();
  return rendezvous;
}

TEST(LatePeers, AreLetIn) {
  const auto rendezvous = open_for_late_peers(rules(2));
  const auto admission = come(*rendezvous, a_peer(std::nullopt, 80)).value();
  EXPECT_EQ(admission.rank, 2);
  EXPECT_EQ(admission.token, "secret");
  EXPECT_EQ(rendezvous->peer(2).value().pid, 80);
  const Rank place = rendezvous->add_place();
  EXPECT_EQ(come(*rendezvous, a_peer(place, 81)).value().rank, place);
  const auto newcomers = rendezvous->take_newcomers();
  ASSERT_EQ(newcomers.size(), 2U);
  EXPECT_EQ(newcomers[0].process, 2);
  EXPECT_EQ(newcomers[0].peer.rank, std::nullopt);
  EXPECT_EQ(newcomers[1].process, place);
  EXPECT_TRUE(rendezvous->take_newcomers().empty());
  EXPECT_NE(refusal(*rendezvous, a_peer(9, 82)).find("is not part of this run"), std::string::npos);
}

// It comes before its predecessor's death is known, gets no answer, and tries again by itself.
TEST(LatePeers, TryAgainUntilTheirPredecessorIsForgotten) {
  const auto rendezvous = open_for_late_peers(rules(2));
  auto answer = begin_join(rendezvous->endpoint(), a_peer(1, 80));
  RawClient client = raw(rendezvous->endpoint());
  const Json words = {{"motley", "0.1.0"}, {"rank", 1}, {"host", "b"}, {"pid", 81}, {"token", "t"}};
  EXPECT_TRUE(client.send(words.dump() + "\n"));
  EXPECT_EQ(rest_of(client, *rendezvous), "");
  EXPECT_FALSE(is_ready(answer));
  rendezvous->forget(1);
  EXPECT_TRUE(look_until(*rendezvous, [&] { return is_ready(answer); }));
  EXPECT_EQ(answer.get().value().rank, 2);
  EXPECT_EQ(rendezvous->take_newcomers().at(0).peer.rank, 1);
}

TEST(LatePeers, ThatDifferAreRefusedAndTheRunGoesOn) {
  RendezvousRules more = rules(2);
  more.host.job = "[train]\nbatch = 256\n";
  more.host.parameters = "fc1 2x3\n";
  const auto rendezvous = open_for_late_peers(more);
  Peer version = a_peer(std::nullopt, 80);
  version.version = "0.2.0";
  Peer job = a_peer(std::nullopt, 80);
  job.job = "[train]\nbatch = 128\n";
  Peer parameters = a_peer(std::nullopt, 80);
  parameters.parameters = "fc1 2x4\n";
  EXPECT_NE(refusal(*rendezvous, version).find("has motley 0.2.0"), std::string::npos);
  EXPECT_EQ(refusal(*rendezvous, job),
            "refused by rank 0 (pid 70 on a): train.batch is 128 for a worker (pid 80 on b), 256 "
            "for rank 0 (pid 70 on a)");
  EXPECT_NE(refusal(*rendezvous, parameters).find("fc1 is 2x4"), std::string::npos);
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
  EXPECT_TRUE(rendezvous->take_newcomers().empty());
  EXPECT_EQ(come(*rendezvous, a_peer(std::nullopt, 80)).value().rank, 2);
}

// A refusal of the beginning does not outlive it either.
TEST(LatePeers, AreNotRefusedForAConflictOfTheBeginning) {
  const auto rendezvous = open_rendezvous(rules(2));
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
  Peer other = a_peer(std::nullopt, 80);
  other.version = "0.2.0";
  EXPECT_NE(refusal(*rendezvous, other), "no refusal");
  EXPECT_TRUE(rendezvous->conflict());
  rendezvous->let_late_in();
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
  EXPECT_TRUE(come(*rendezvous, a_peer(std::nullopt, 81)));
}

// The answer is the same whether a rank is held, forgotten, promised or not part of the run.
TEST(LatePeers, WithoutTheTokenLearnNothingAboutPlaces) {
  const auto rendezvous = open_for_late_peers(rules(3));
  rendezvous->forget(2);
  const Rank place = rendezvous->add_place();
  for (const Rank rank : {0, 1, 2, place, place + 1}) {
    Peer stranger = a_peer(rank);
    stranger.token = "other";
    EXPECT_EQ(refusal(*rendezvous, stranger),
              fmt::format("refused by rank 0 (pid 70 on a): rank {} (pid 77 on b) belongs to "
                          "another run: its token (MOTLEY_TOKEN) differs",
                          rank));
  }
  EXPECT_TRUE(rendezvous->take_newcomers().empty());
  EXPECT_EQ(come(*rendezvous, a_peer(place, 80)).value().rank, place);
}

TEST(LatePeers, AreRememberedInFewWords) {
  const auto rendezvous = open_for_late_peers(rules(2));
  Peer peer = a_peer(std::nullopt, 80);
  peer.host = std::string(1 << 20, 'x');
  EXPECT_EQ(come(*rendezvous, peer).value().rank, 2);
  EXPECT_LT(rendezvous->peer(2).value().host.size(), 1000U);
}

}  // namespace
}  // namespace motley::rendezvous_test
