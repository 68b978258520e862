// Peers that are lost and come back, connections that get stuck, and signs of life.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "fabric/fabric_end.h"

namespace motley {
namespace {

using namespace std::chrono_literals;

Message of_term(Rank from, std::uint16_t term, const std::string& words) {
  Message message = text(from, words);
  message.term = term;
  return message;
}

Message control(Rank from, const std::string& words) {
  Message message = text(from, words);
  message.channel = Channel::kControl;
  return message;
}

Message pulse_of(Rank from) {
  Message message;
  message.from = from;
  return message;
}

// Two ends that know each other and have exchanged a message each way.
struct Pair {
  Pair() {
    a.fabric().set_peer(1, b.endpoint());
    b.fabric().set_peer(0, a.endpoint());
    talk(0);
  }
  void talk(std::uint16_t term) {
    a.fabric().send(1, of_term(0, term, "ping"));
    EXPECT_EQ(words_of(b.next()), "ping");
    b.fabric().send(0, of_term(1, term, "pong"));
    EXPECT_EQ(words_of(a.next()), "pong");
  }

  FabricEnd a{0};
  FabricEnd b{1};
};

TEST(TcpAgain, ALostPeerIsReachedAgain) {
  Pair pair;
  pair.a.fabric().set_stuck_after(0.2);
  for (std::uint16_t term = 1; term < 4; ++term) {
    pair.b.fabric().pulse();  // and then no more
    EXPECT_EQ(pair.a.reason_for_losing(1), "rank 1 gave no sign of life for 0.2 s");
    EXPECT_NE(pair.b.reason_for_losing(0), "");
    pair.a.fabric().send(1, of_term(0, term, "dropped"));
    pair.a.fabric().reconnect(1, term);
    pair.a.fabric().reconnect(1, term);
    pair.b.fabric().reconnect(0, term);
    pair.a.fabric().send(1, of_term(0, static_cast<std::uint16_t>(term - 1), "too old"));
    pair.talk(term);
  }
}

// Only one side has noticed: the other one learns it from the new connection.
TEST(TcpAgain, ANewConnectionTellsThatTheOldOneIsLost) {
  FabricEnd a(0);
  RawPeer old(a.endpoint());
  old.hello(1, 0, "secret");
  old.send(FrameKind::kMessage, text(1, "one"));
  old.send(FrameKind::kMessage, text(1, "two"));
  RawPeer again(a.endpoint());
  again.hello(1, 0, "secret", 2, 1, 3);
  again.send(FrameKind::kMessage, of_term(1, 3, "three"));
  EXPECT_EQ(words_of(a.next()), "one");
  EXPECT_EQ(words_of(a.next()), "two");
  EXPECT_EQ(words_of(a.next()), "three");
  EXPECT_EQ(a.reason_for_losing(1), "rank 1 has lost this connection and made another one");
  EXPECT_TRUE(old.was_ended());

  RawPeer late(a.endpoint());
  late.hello(1, 0, "secret", 1);
  EXPECT_TRUE(late.was_ended());
  again.send(FrameKind::kMessage, of_term(1, 3, "four"));
  EXPECT_EQ(words_of(a.next()), "four");
}

TEST(TcpAgain, AReconnectedPeerReplacesItsConnectionSilently) {
  FabricEnd a(0);
  RawPeer old(a.endpoint());
  old.hello(1, 0, "secret");
  old.send(FrameKind::kMessage, text(1, "one"));
  EXPECT_EQ(words_of(a.next()), "one");
  a.fabric().reconnect(1, 3);
  EXPECT_TRUE(old.was_ended());
  RawPeer again(a.endpoint());
  again.hello(1, 0, "secret", 2, 1, 3);
  again.send(FrameKind::kMessage, of_term(1, 2, "of an earlier term"));
  again.send(FrameKind::kMessage, control(1, "of no term"));
  again.send(FrameKind::kMessage, of_term(1, 3, "two"));
  again.send(FrameKind::kMessage, of_term(1, 4, "three"));
  EXPECT_EQ(words_of(a.next()), "of no term");
  EXPECT_EQ(words_of(a.next()), "two");
  EXPECT_EQ(words_of(a.next()), "three");
  EXPECT_FALSE(a.has_lost(1));
}

TEST(TcpAgain, ADroppedPeerIsIgnored) {
  FabricEnd a(0);
  RawPeer one(a.endpoint());
  one.hello(1, 0, "secret");
  one.send(FrameKind::kMessage, text(1, "one"));
  EXPECT_EQ(words_of(a.next()), "one");
  a.fabric().set_peer(1, {"127.0.0.1", 1});
  a.fabric().drop_peer(1);
  EXPECT_TRUE(one.was_ended());
  RawPeer two(a.endpoint());
  two.hello(1, 0, "secret", 2);
  EXPECT_TRUE(two.was_ended());
  a.fabric().reconnect(1, 1);
  a.fabric().send(1, of_term(0, 1, "to nobody"));
  RawPeer three(a.endpoint());
  three.hello(1, 0, "secret", 3, 1, 1);
  EXPECT_TRUE(three.was_ended());
  EXPECT_FALSE(a.has_lost(1));
}

// The second connection repeats what may be missing, the first one ends in the middle of a frame.
TEST(TcpAgain, AnotherConnectionContinuesAStream) {
  FabricEnd a(0);
  RawPeer first(a.endpoint());
  first.hello(1, 0, "secret");
  first.send(FrameKind::kMessage, text(1, "one"));
  first.send(FrameKind::kMessage, text(1, "two"));
  first.send(encode_head(FrameKind::kMessage, text(1, "three")));
  RawPeer second(a.endpoint());
  second.hello(1, 0, "secret", 1, 2);
  second.send(FrameKind::kPulse, pulse_of(1));
  for (const char* words : {"two", "three", "four"}) {
    second.send(FrameKind::kMessage, text(1, words));
  }
  for (const char* words : {"one", "two", "three", "four"}) {
    EXPECT_EQ(words_of(a.next()), words);
  }
  EXPECT_TRUE(first.was_ended());
  EXPECT_FALSE(a.has_lost(1));

  RawPeer with_a_gap(a.endpoint());
  with_a_gap.hello(1, 0, "secret", 1, 6);
  EXPECT_TRUE(with_a_gap.was_ended());
  second.send(FrameKind::kBye, pulse_of(1));
  RawPeer third(a.endpoint());
  third.hello(1, 0, "secret", 1, 6);
  EXPECT_FALSE(a.has_lost(1));
}

TEST(TcpAgain, SilenceAfterAPulseIsALoss) {
  FabricEnd a(0);
  a.fabric().set_stuck_after(0.2);
  RawPeer without_pulses(a.endpoint());
  without_pulses.hello(2, 0, "secret");
  without_pulses.send(FrameKind::kMessage, text(2, "here"));
  EXPECT_EQ(words_of(a.next()), "here");
  RawPeer silent(a.endpoint());
  silent.hello(1, 0, "secret");
  silent.send(FrameKind::kPulse, pulse_of(1));
  EXPECT_EQ(a.reason_for_losing(1), "rank 1 gave no sign of life for 0.2 s");
  EXPECT_TRUE(silent.was_ended());
  EXPECT_FALSE(a.has_lost(2));
}

TEST(TcpAgain, PulsesKeepConnectionsAlive) {
  Pair pair;
  std::atomic<bool> over = false;
  std::thread pulses([&] {
    while (!over) {
      pair.a.fabric().pulse();
      pair.b.fabric().pulse();
      std::this_thread::sleep_for(10ms);
    }
  });
  pair.a.fabric().set_stuck_after(0.5);
  pair.b.fabric().set_stuck_after(0.5);
  // By the time the last of these is lost, the others have been silent for long enough.
  for (Rank rank = 5; rank < 7; ++rank) {
    RawPeer silent(pair.a.endpoint());
    silent.hello(rank, 0, "secret");
    silent.send(FrameKind::kPulse, pulse_of(rank));
    EXPECT_NE(pair.a.reason_for_losing(rank), "");
  }
  over = true;
  pulses.join();
  EXPECT_FALSE(pair.a.has_lost(1));
  EXPECT_FALSE(pair.b.has_lost(0));
}

// Listens like a fabric, and reads only when asked to.
class SlowReader {
 public:
  Endpoint endpoint() { return {"127.0.0.1", acceptor_.local_endpoint().port()}; }

  struct Connection {
    explicit Connection(asio::io_context& io) : socket(io) {}
    asio::ip::tcp::socket socket;
    FrameReader reader{kDefaultPayloadLimit};
    Message hello;
    std::vector<std::int64_t> tags;
  };
  std::unique_ptr<Connection> accept() {
    auto connection = std::make_unique<Connection>(io_);
    bool came = false;
    acceptor_.async_accept(connection->socket, [&](std::error_code error) { came = !error; });
    run(io_);
    if (!came) {
      throw std::runtime_error("no connection came");
    }
    return connection;
  }
  // Reads until this message has come, or what has arrived.
  void read(Connection& connection, std::optional<std::int64_t> until) {
    connection.socket.non_blocking(!until);
    std::error_code error;
    while (!error && (!until || connection.tags.empty() || connection.tags.back() != *until)) {
      const auto space = connection.reader.space();
      const std::array<asio::mutable_buffer, 2> buffers = {
          asio::buffer(space[0].data(), space[0].size()),
          asio::buffer(space[1].data(), space[1].size())};
      const std::size_t count = connection.socket.read_some(buffers, error);
      EXPECT_TRUE(connection.reader.filled(count, [&](const Frame& frame) {
        note(connection, frame);
        return Status();
      }));
    }
  }

 private:
  static void note(Connection& connection, const Frame& frame) {
    if (frame.kind == FrameKind::kHello) {
      connection.hello = frame.message;
    } else {
      connection.tags.push_back(frame.message.header.tag);
    }
  }
  static void run(asio::io_context& io) {
    io.restart();
    io.run_for(kFabricDeadline);
  }

  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
};

// The peer reads nothing for a while, so nothing is acknowledged, as if packets had vanished.
TEST(TcpAgain, AStuckConnectionIsReplacedAndNothingIsLost) {
  SlowReader reader;
  FabricEnd a(0);
  a.fabric().set_stuck_after(6);
  a.fabric().set_peer(1, reader.endpoint());
  constexpr std::int64_t kMessages = 30;
  std::vector<float> values(500'000, 1.0F);  // all of them: more than the system takes
  for (std::int64_t tag = 1; tag <= kMessages; ++tag) {
    a.fabric().send(1, {0, Channel::kMethod, {.tag = tag}, Payload::borrow(values)});
  }
  const auto stuck = reader.accept();
  const auto fresh = reader.accept();
  reader.read(*stuck, std::nullopt);
  reader.read(*fresh, kMessages);
  EXPECT_EQ(stuck->hello.header, (Header{1, 1, 1}));
  EXPECT_EQ(fresh->hello.header.a, 1);
  // The second one begins with what the first one has not brought, or earlier.
  EXPECT_LE(fresh->hello.header.b, static_cast<std::int64_t>(stuck->tags.size()) + 1);
  std::int64_t expected = fresh->hello.header.b;
  for (const std::int64_t tag : fresh->tags) {
    EXPECT_EQ(tag, expected++);
  }
  EXPECT_EQ(expected, kMessages + 1);
  EXPECT_FALSE(a.has_lost(1));
}

TEST(TcpAgain, APeerThatReadsNothingIsLost) {
  SlowReader reader;
  FabricEnd a(0);
  a.fabric().set_stuck_after(0.4);
  a.fabric().set_peer(1, reader.endpoint());
  std::vector<float> values(8'000'000, 1.0F);
  a.fabric().send(1, {0, Channel::kMethod, {}, Payload::borrow(values)});
  EXPECT_EQ(a.reason_for_losing(1), "rank 1 gave no sign of life for 0.4 s");
}

}  // namespace
}  // namespace motley
