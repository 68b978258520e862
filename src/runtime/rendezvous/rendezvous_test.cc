#include "runtime/rendezvous/rendezvous.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "runtime/rendezvous/addresses.h"
#include "tests/rendezvous_tools.h"

namespace motley::rendezvous_test {
namespace {

TEST(Rendezvous, APeerIsToldItsRankAndTheFabric) {
  const auto rendezvous = open_rendezvous(rules(3));
  const auto admission = come(*rendezvous, a_peer(2)).value();
  EXPECT_EQ(admission.rank, 2);
  EXPECT_EQ(admission.token, "secret");
  EXPECT_EQ(admission.coordinator.host, "127.0.0.1");
  EXPECT_EQ(admission.coordinator.port, 4711);
  EXPECT_EQ(admission.here, "127.0.0.1");
  EXPECT_EQ(rendezvous->peer(2).value().pid, 77);
  EXPECT_EQ(rendezvous->peer(0).value().pid, 70);  // the host itself
  EXPECT_FALSE(rendezvous->peer(1));
  EXPECT_EQ(rendezvous->missing(), std::vector<Rank>{1});
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
}

TEST(Rendezvous, ManyJoinAtOnce) {
  const auto rendezvous = open_rendezvous(rules(17));
  std::vector<std::future<Result<Admission>>> answers;
  for (Rank rank = 1; rank < 17; ++rank) {
    answers.push_back(begin_join(rendezvous->endpoint(), a_peer(rank, 100 + rank)));
  }
  EXPECT_TRUE(look_until(*rendezvous, [&] { return rendezvous->missing().empty(); }));
  for (Rank rank = 1; rank < 17; ++rank) {
    auto& answer = answers[static_cast<std::size_t>(rank - 1)];
    EXPECT_TRUE(look_until(*rendezvous, [&] { return is_ready(answer); }));
    EXPECT_EQ(answer.get().value().rank, rank);
    EXPECT_EQ(rendezvous->peer(rank).value().pid, 100 + rank);
  }
}

TEST(Rendezvous, APeerWithoutARankGetsAFreeOne) {
  const auto rendezvous = open_rendezvous(rules(4));
  EXPECT_EQ(come(*rendezvous, a_peer(2)).value().rank, 2);
  EXPECT_EQ(come(*rendezvous, a_peer(std::nullopt)).value().rank, 1);
  EXPECT_EQ(come(*rendezvous, a_peer(std::nullopt)).value().rank, 3);
  EXPECT_EQ(refusal(*rendezvous, a_peer(std::nullopt)),
            "refused by rank 0 (pid 70 on a): no rank is left for a worker (pid 77 on b): all 4 "
            "are taken");
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
}

TEST(Rendezvous, ACoordinatorWithoutAWorker) {
  RendezvousRules more = rules(1);
  more.host.rank.reset();
  const auto rendezvous = open_rendezvous(more);
  EXPECT_EQ(rendezvous->missing(), std::vector<Rank>{0});
  EXPECT_EQ(come(*rendezvous, a_peer(std::nullopt)).value().rank, 0);
  EXPECT_EQ(
      refusal(*rendezvous, a_peer(1, 78)),
      "refused by the coordinator (pid 70 on a): rank 1 (pid 78 on b) is not part of this run, "
      "which has ranks 0 to 0");
}

TEST(Rendezvous, TheHostMayJoinItsOwnRendezvous) {
  const auto rendezvous = open_rendezvous(rules(2));
  EXPECT_EQ(come(*rendezvous, host()).value().rank, 0);
}

TEST(Rendezvous, ADuplicateRankIsRefused) {
  const auto rendezvous = open_rendezvous(rules(3));
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
  Peer second = a_peer(1, 78);
  second.host = "c";
  EXPECT_EQ(
      refusal(*rendezvous, second),
      "refused by rank 0 (pid 70 on a): rank 1 joined twice: first pid 77 on b, now pid 78 on "
      "c");
  EXPECT_EQ(
      refusal(*rendezvous, a_peer(0)),
      "refused by rank 0 (pid 70 on a): rank 0 joined twice: first pid 70 on a, now pid 77 on "
      "b");
  EXPECT_EQ(rendezvous->peer(1).value().pid, 77);
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
}

TEST(Rendezvous, AnotherVersionIsAConflict) {
  const auto rendezvous = open_rendezvous(rules(3));
  Peer peer = a_peer(2);
  peer.version = "0.2.0";
  const std::string reason =
      "rank 2 (pid 77 on b) has motley 0.2.0, rank 0 (pid 70 on a) has 0.1.0";
  EXPECT_EQ(refusal(*rendezvous, peer), "refused by rank 0 (pid 70 on a): " + reason);
  EXPECT_EQ(rendezvous->conflict(), reason);
  EXPECT_FALSE(rendezvous->peer(2));
}

TEST(Rendezvous, AWrongTokenIsNotAConflict) {
  const auto rendezvous = open_rendezvous(rules(3));
  Peer peer = a_peer(2);
  peer.token = "other";
  EXPECT_EQ(refusal(*rendezvous, peer),
            "refused by rank 0 (pid 70 on a): rank 2 (pid 77 on b) belongs to another run: its "
            "token (MOTLEY_TOKEN) differs");
  peer.version = "0.2.0";
  EXPECT_NE(refusal(*rendezvous, peer).find("has motley 0.2.0"), std::string::npos);
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
  EXPECT_FALSE(rendezvous->peer(2));
}

TEST(Rendezvous, AnotherJobOrModelIsAConflict) {
  for (const bool job : {true, false}) {
    RendezvousRules more = rules(3);
    Peer peer = a_peer(2);
    (job ? more.host.job : more.host.parameters) = job ? "[train]\nbatch = 256\n" : "fc1 2x3\n";
    (job ? peer.job : peer.parameters) = job ? "[train]\nbatch = 128\n" : "fc1 2x4\n";
    const auto rendezvous = open_rendezvous(more);
    EXPECT_TRUE(come(*rendezvous, a_peer(1)));  // it accepts the host's
    const std::string reason =
        job ? "train.batch is 128 for rank 2 (pid 77 on b), 256 for rank 0 (pid 70 on a)"
            : "fc1 is 2x4 for rank 2 (pid 77 on b), 2x3 for rank 0 (pid 70 on a)";
    EXPECT_EQ(refusal(*rendezvous, peer), "refused by rank 0 (pid 70 on a): " + reason);
    EXPECT_EQ(rendezvous->conflict(), reason);
    EXPECT_FALSE(rendezvous->peer(2));
  }
}

TEST(Rendezvous, PeersThatArriveMeanwhileAreToldOfAConflict) {
  RendezvousRules patient = rules(3);
  patient.grace = kLong;
  patient.host.job = "[train]\nbatch = 256\n";
  const auto rendezvous = open_rendezvous(patient);
  Peer peer = a_peer(2);
  peer.job = "[train]\nbatch = 128\n";
  const std::string conflict = refusal(*rendezvous, peer);
  EXPECT_EQ(refusal(*rendezvous, a_peer(1, 78)), conflict);
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);  // others may still come
}

// The process has come for the session's next run, whose rendezvous is a different one and which
// may have servers that this run lacks: it gets no answer, and join_rendezvous() retries.
TEST(Rendezvous, APeerThatIsInTheRunGetsNoAnswer) {
  const auto rendezvous = open_rendezvous(rules(2));
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
  const auto answer_to = [&](Rank rank, std::int64_t pid) {
    const Json words = {{"motley", "0.1.0"}, {"rank", rank}, {"host", "b"},
                        {"pid", pid},        {"token", "t"}, {"attempt", "another"}};
    RawClient client = raw(rendezvous->endpoint());
    EXPECT_TRUE(client.send(words.dump() + "\n"));
    return rest_of(client, *rendezvous);
  };
  EXPECT_EQ(answer_to(1, 77), "");
  EXPECT_EQ(answer_to(2, 77), "");
  EXPECT_NE(answer_to(1, 78).find("rank 1 joined twice"), std::string::npos);
  EXPECT_NE(answer_to(2, 78).find("is not part of this run"), std::string::npos);
}

TEST(JoinRendezvous, CanBeInterrupted) {
  std::atomic<bool> interrupted = false;
  const auto rendezvous = open_rendezvous(rules(2));  // where nobody calls look()
  auto answer = std::async(std::launch::async, [&] {
    return join_rendezvous(rendezvous->endpoint(), a_peer(1), kLong, [&] {
      return interrupted ? std::optional<std::string>("enough") : std::nullopt;
    });
  });
  EXPECT_FALSE(is_ready(answer));
  interrupted = true;
  EXPECT_EQ(answer.get().error().message, "enough");
}

TEST(Rendezvous, SilenceAndHalfALineBlockNobody) {
  const auto rendezvous = open_rendezvous(rules(3));
  std::vector<RawClient> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(raw(rendezvous->endpoint()));
  }
  silent[3].send("{\"motley\": \"0.1.0\", \"host\": ");
  EXPECT_TRUE(look_until(*rendezvous, [&] { return rendezvous->waiting() == 20; }));
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
  EXPECT_EQ(rendezvous->waiting(), 20U);
  // What was sent before is remembered.
  silent[3].send("\"b\", \"pid\": 5, \"token\": \"t\", \"rank\": 2}\n");
  EXPECT_EQ(Json::parse(rest_of(silent[3], *rendezvous))["rank"], 2);
  EXPECT_EQ(rendezvous->waiting(), 19U);
  EXPECT_EQ(rendezvous->peer(2).value().pid, 5);
  // Peers that disconnect are forgotten.
  silent.clear();
  EXPECT_TRUE(look_until(*rendezvous, [&] { return rendezvous->waiting() == 0; }));
}

TEST(Rendezvous, NestedValuesAreDropped) {
  const auto rendezvous = open_rendezvous(rules(2));
  const std::string deep(100'000, '[');
  for (const std::string& line :
       {deep, "{\"motley\": " + deep, "{\"motley\": [1, 2, {}]}" + deep}) {
    RawClient client = raw(rendezvous->endpoint());
    EXPECT_TRUE(client.send(line + "\n"));
    EXPECT_NE(rest_of(client, *rendezvous).find("this is the rendezvous of a motley run"),
              std::string::npos);
  }
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
}

TEST(Rendezvous, SilentPeersAreDisconnected) {
  RendezvousRules more = rules(3);
  more.patience = 0;
  const auto rendezvous = open_rendezvous(more);
  RawClient silent = raw(rendezvous->endpoint());
  EXPECT_EQ(rest_of(silent, *rendezvous), "");
  EXPECT_EQ(rendezvous->waiting(), 0U);
}

TEST(Rendezvous, ALineWithoutEndIsNotKept) {
  RendezvousRules more = rules(3);
  more.patience = 1000;
  const auto rendezvous = open_rendezvous(more);
  RawClient talker = raw(rendezvous->endpoint());
  auto said = std::async(std::launch::async,
                         [&] { return talker.send(std::string(2 * kLongestLine, 'x')); });
  EXPECT_TRUE(
      look_until(*rendezvous, [&] { return said.wait_for(0ms) == std::future_status::ready; }));
  EXPECT_EQ(rest_of(talker, *rendezvous), "");
  EXPECT_EQ(rendezvous->waiting(), 0U);
}

TEST(Rendezvous, ARepeatedAttemptGetsTheSameAnswer) {
  const auto rendezvous = open_rendezvous(rules(4));
  const auto ask = [&](const std::string& more) {
    RawClient client = raw(rendezvous->endpoint());
    client.send("{\"motley\": \"0.1.0\", \"token\": \"t\"" + more + "}\n");
    return Json::parse(rest_of(client, *rendezvous));
  };
  EXPECT_EQ(ask(", \"attempt\": \"v\"")["rank"], 1);
  EXPECT_EQ(ask(", \"attempt\": \"v\"")["rank"], 1);
  EXPECT_EQ(ask(", \"attempt\": \"v\", \"rank\": 1")["rank"], 1);
  EXPECT_EQ(ask("")["rank"], 2);
  EXPECT_EQ(ask("")["rank"], 3);
  EXPECT_TRUE(ask(", \"rank\": 2").contains("refused"));
}

// Random bytes, and valid lines with a few bytes changed: each is answered by one line or not at
// all, and a real peer still joins.
TEST(Rendezvous, MalformedInputDoesNoHarm) {
  RendezvousRules more = rules(3);
  more.host.job = "[train]\nbatch = 256\n";
  const auto rendezvous = open_rendezvous(more);
  const std::string good =
      R"({"motley":"0.1.0","rank":1,"host":"b","pid":5,"token":"no","job":"a","attempt":"x"})";
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    std::string noise = seed % 3 == 0 ? std::string(random.below(200), '\0') : good;
    const std::uint64_t changes = seed % 3 == 0 ? noise.size() : random.below(4);
    for (std::uint64_t change = 0; change < changes; ++change) {
      const std::size_t at = seed % 3 == 0 ? change : random.below(noise.size());
      noise[at] = static_cast<char>(random.below(256));
    }
    RawClient client = raw(rendezvous->endpoint());
    client.send(noise + "\n");
    const std::string answer = rest_of(client, *rendezvous);
    EXPECT_TRUE(Json::parse(answer, nullptr, false).contains("refused")) << seed << answer;
  }
  EXPECT_EQ(rendezvous->missing(), (std::vector<Rank>{1, 2}));
  EXPECT_EQ(rendezvous->conflict(), std::nullopt);
  EXPECT_TRUE(come(*rendezvous, a_peer(1)));
}

TEST(Rendezvous, AnAddressThatIsNotAvailable) {
  const auto rendezvous = open_rendezvous(rules(1));
  const Endpoint taken = rendezvous->endpoint();
  EXPECT_EQ(Rendezvous::open("127.0.0.1", taken.port, rules(1)).error().message,
            fmt::format("127.0.0.1:{} is in use", taken.port));
  EXPECT_EQ(Rendezvous::open("192.0.2.1", 4000, rules(1)).error().message,
            "192.0.2.1:4000 is not an address of this machine");
}

TEST(JoinRendezvous, NothingListens) {
  const BoundPort port;
  const auto message = [&](std::optional<Rank> rank) {
    return join_rendezvous(port.endpoint, a_peer(rank), 0.01).error().message;
  };
  const std::string begin = "timed out after 0.01 s waiting for ";
  const std::string rest = ": nothing listens at " + show(port.endpoint);
  EXPECT_EQ(message(1), begin + "rank 0" + rest);
  EXPECT_EQ(message(std::nullopt), begin + "the coordinator" + rest);
}

// Too long for a host name, so that no name server has to be asked.
TEST(JoinRendezvous, AnInvalidHostName) {
  const std::string name(70, 'x');
  const auto answer = join_rendezvous({name, 1}, a_peer(1), 0);
  EXPECT_TRUE(answer.error().message.starts_with("timed out after 0 s waiting for rank 0: " + name +
                                                 " cannot be found"))
      << answer.error().message;
}

TEST(JoinRendezvous, NamesAreResolved) {
  const auto rendezvous = open_rendezvous(rules(3));
  auto answer = begin_join({"localhost", rendezvous->endpoint().port}, a_peer(1));
  EXPECT_TRUE(look_until(*rendezvous, [&] { return is_ready(answer); }));
  EXPECT_EQ(answer.get().value().coordinator.host, "127.0.0.1");
}

// The first listener closes without an answer; then nothing listens; then there is a rendezvous.
TEST(JoinRendezvous, Retries) {
  const BoundPort port;
  auto listener = std::make_unique<BoundPort>();
  listener->socket = Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  setsockopt(listener->socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  const Address address = own_address(port.socket.get());
  ASSERT_EQ(bind(listener->socket.get(), address.get(), address.size), 0);
  ASSERT_EQ(listen(listener->socket.get(), 1), 0);
  auto answer = begin_join(port.endpoint, a_peer(1));
  const Descriptor first(accept(listener->socket.get(), nullptr, nullptr));
  ASSERT_TRUE(first);
  listener.reset();
  shutdown(first.get(), SHUT_RDWR);
  const auto rendezvous =
      std::move(Rendezvous::open("127.0.0.1", port.endpoint.port, rules(2)).value());
  EXPECT_TRUE(look_until(*rendezvous, [&] { return is_ready(answer); }));
  EXPECT_EQ(answer.get().value().rank, 1);
}

TEST(JoinRendezvous, SomethingElseListens) {
  BoundPort port;
  ASSERT_EQ(listen(port.socket.get(), 1), 0);
  auto answer = begin_join(port.endpoint, a_peer(1));
  const Descriptor client(accept(port.socket.get(), nullptr, nullptr));
  const std::string said = "HTTP/1.1 400 Bad Request\r\n";
  send(client.get(), said.data(), said.size(), MSG_NOSIGNAL);
  EXPECT_EQ(answer.get().error().message,
            show(port.endpoint) +
                " is not a motley rendezvous: it answered \"HTTP/1.1 400 Bad Request?\"");
}

TEST(JoinRendezvous, SilenceEndsAtTheDeadline) {
  BoundPort port;
  ASSERT_EQ(listen(port.socket.get(), 1), 0);
  EXPECT_EQ(join_rendezvous(port.endpoint, a_peer(1), 0.02).error().message,
            fmt::format("timed out after 0.02 s waiting for rank 0: {} does not answer",
                        show(port.endpoint)));
}

std::atomic<int> g_interrupted = 0;

// It continues its wait and does not even reconnect.
TEST(JoinRendezvous, SignalsDoNotEndIt) {
  struct sigaction action {};
  action.sa_handler = [](int) { ++g_interrupted; };
  struct sigaction before {};
  sigaction(SIGUSR1, &action, &before);
  BoundPort port;
  ASSERT_EQ(listen(port.socket.get(), 1), 0);
  Result<Admission> answer;
  std::thread joining([&] { answer = join_rendezvous(port.endpoint, a_peer(1), kLong); });
  const Descriptor client(accept(port.socket.get(), nullptr, nullptr));
  for (int sent = 0; sent < 200; ++sent) {
    pthread_kill(joining.native_handle(), SIGUSR1);
    while (g_interrupted <= sent) {
      std::this_thread::yield();
    }
  }
  const std::string said = "{\"refused\": \"enough\"}\n";
  send(client.get(), said.data(), said.size(), MSG_NOSIGNAL);
  joining.join();
  EXPECT_EQ(answer.error().message, "enough");
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(JoinRendezvous, TooLongADescription) {
  Peer peer = a_peer(1);
  peer.job = std::string(kLongestLine, 'x');
  EXPECT_NE(join_rendezvous({"127.0.0.1", 1}, peer, 0).error().message.find("is too long"),
            std::string::npos);
}

}  // namespace
}  // namespace motley::rendezvous_test
