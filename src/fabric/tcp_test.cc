#include "fabric/tcp.h"

#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <deque>
#include <map>

#include "base/random.h"

namespace motley {
namespace {

using asio::ip::tcp;
using namespace std::chrono_literals;

constexpr auto kDeadline = 20s;

// One end of a fabric and the messages that arrived there.
class End final : public FabricSink {
 public:
  explicit End(Rank rank, TcpOptions options = {})
      : fabric_(driver_, *this, with(rank, std::move(options))) {}

  void on_message(Message message) override {
    std::lock_guard lock(driver_.mutex());
    arrived_.push_back(std::move(message));
    driver_.wake();
  }
  void on_peer_lost(Rank peer, const std::string& reason) override {
    std::lock_guard lock(driver_.mutex());
    lost_[peer] = reason;
    driver_.wake();
  }

  Message next() {
    std::unique_lock lock(driver_.mutex());
    const bool came =
        driver_.wait(lock, Driver::Clock::now() + kDeadline, [&] { return !arrived_.empty(); });
    if (!came) {
      throw std::runtime_error("no message came");
    }
    Message message = std::move(arrived_.front());
    arrived_.pop_front();
    return message;
  }
  std::string reason_for_losing(Rank peer) {
    std::unique_lock lock(driver_.mutex());
    driver_.wait(lock, Driver::Clock::now() + kDeadline, [&] { return lost_.contains(peer); });
    return lost_[peer];
  }

  TcpFabric& fabric() { return fabric_; }
  Endpoint endpoint() const { return fabric_.endpoint(); }

 private:
  static TcpOptions with(Rank rank, TcpOptions options) {
    options.self = rank;
    options.token = "secret";
    return options;
  }

  Driver driver_;
  std::deque<Message> arrived_;
  std::map<Rank, std::string> lost_;
  TcpFabric fabric_;
};

Message text(Rank from, const std::string& words, std::int64_t tag = 0) {
  return {from, Channel::kMethod, {.tag = tag}, Payload::copy_of(std::as_bytes(std::span(words)))};
}

std::string words_of(const Message& message) {
  const auto bytes = message.payload.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A plain TCP client, with a deadline so that no test hangs.
class Stranger {
 public:
  explicit Stranger(const Endpoint& endpoint) : socket_(io_) {
    socket_.connect({asio::ip::make_address(endpoint.host), endpoint.port});
  }
  void send(std::span<const std::byte> bytes) {
    std::error_code ignored;  // the other side may end the connection in the middle
    asio::write(socket_, asio::buffer(bytes.data(), bytes.size()), ignored);
  }
  void send(FrameKind kind, const Message& message) {
    send(encode_head(kind, message));
    send(message.payload.bytes());
  }
  void hello(Rank from, Rank to, const std::string& token) {
    Message hello = text(from, token);
    hello.header.tag = to;
    send(FrameKind::kHello, hello);
  }
  // True if the other side closed the connection.
  bool was_ended() {
    bool ended = false;
    std::array<char, 1> byte{};
    asio::async_read(socket_, asio::buffer(byte),
                     [&](std::error_code error, std::size_t) { ended = bool(error); });
    io_.run_for(kDeadline);
    return ended;
  }

 private:
  asio::io_context io_;
  tcp::socket socket_;
};

TEST(TcpFabric, CarriesMessagesBothWaysInOrder) {
  End a(0);
  End b(1);
  a.fabric().set_peer(1, b.endpoint());
  b.fabric().set_peer(0, a.endpoint());
  for (int i = 0; i < 1000; ++i) {
    a.fabric().send(1, text(0, std::string(static_cast<std::size_t>(i * 7), 'x'), i));
    b.fabric().send(0, text(1, "pong", i));
  }
  for (int i = 0; i < 1000; ++i) {
    const Message at_b = b.next();
    EXPECT_EQ(at_b.header.tag, i);
    EXPECT_EQ(at_b.payload.size(), static_cast<std::size_t>(i * 7));
    EXPECT_EQ(a.next().header.tag, i);
  }
  EXPECT_EQ(b.fabric().bytes_sent(), static_cast<std::int64_t>(1000 * (kFrameBytes + 4)));
}

TEST(TcpFabric, KeepsABorrowedPayloadThatDoesNotFitIntoTheSocket) {
  End a(0);
  End b(1);
  a.fabric().set_peer(1, b.endpoint());
  std::vector<float> values(8'000'000, 1.5F);  // 32 MB: more than any socket buffer
  a.fabric().send(1, {0, Channel::kMethod, {}, Payload::borrow(values)});
  std::fill(values.begin(), values.end(), -1.0F);
  const Message message = b.next();
  ASSERT_EQ(message.payload.floats().size(), values.size());
  EXPECT_TRUE(std::all_of(message.payload.floats().begin(), message.payload.floats().end(),
                          [](float v) { return v == 1.5F; }));
}

TEST(TcpFabric, TellsAGoodbyeFromALoss) {
  End a(0);
  {
    End b(1);
    b.fabric().set_peer(0, a.endpoint());
    b.fabric().send(0, text(1, "hi"));
    EXPECT_EQ(words_of(a.next()), "hi");
    b.fabric().close(5);
  }
  EXPECT_EQ(a.reason_for_losing(1), "rank 1 has left the run");

  {
    End c(2);
    c.fabric().set_peer(0, a.endpoint());
    c.fabric().send(0, text(2, "hi"));
    EXPECT_EQ(words_of(a.next()), "hi");
  }
  EXPECT_NE(a.reason_for_losing(2).find("rank 2 broke"), std::string::npos);
}

TEST(TcpFabric, SaysWhenAPeerCannotBeReached) {
  // Bound but not listening, so that no other process can listen there.
  asio::io_context io;
  tcp::socket held(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  End a(0);
  a.fabric().set_peer(1, {"127.0.0.1", held.local_endpoint().port()});
  a.fabric().send(1, text(0, "anybody?"));
  EXPECT_NE(a.reason_for_losing(1).find("cannot reach rank 1"), std::string::npos);
  a.fabric().send(1, text(0, "silently dropped"));
}

// Each loses its own connection; the fabric continues for the peers that belong to the run.
TEST(TcpFabric, ClosesConnectionsThatDoNotBelongToTheRun) {
  End a(0);
  const std::string garbage(100, 'x');
  Stranger noisy(a.endpoint());
  noisy.send(std::as_bytes(std::span(garbage)));
  EXPECT_TRUE(noisy.was_ended());

  Stranger without_token(a.endpoint());
  without_token.hello(1, 0, "guess");
  EXPECT_TRUE(without_token.was_ended());

  Stranger elsewhere(a.endpoint());
  elsewhere.hello(1, 5, "secret");
  EXPECT_TRUE(elsewhere.was_ended());

  Stranger impatient(a.endpoint());
  impatient.send(FrameKind::kMessage, text(1, "no hello"));
  EXPECT_TRUE(impatient.was_ended());

  Stranger large_hello(a.endpoint());
  large_hello.hello(1, 0, std::string(kHelloPayloadLimit + 1, 's'));
  EXPECT_TRUE(large_hello.was_ended());

  Stranger impostor(a.endpoint());
  impostor.hello(1, 0, "secret");
  impostor.send(FrameKind::kMessage, text(2, "with another's rank"));
  EXPECT_TRUE(impostor.was_ended());

  End b(3);
  b.fabric().set_peer(0, a.endpoint());
  b.fabric().send(0, text(3, "I belong"));
  EXPECT_EQ(words_of(a.next()), "I belong");
}

TEST(TcpFabric, EndsAConnectionOverItsLimit) {
  End a(0, {.payload_limit = 1000});
  Stranger big(a.endpoint());
  big.hello(1, 0, "secret");
  Message claim;
  claim.from = 1;
  claim.payload = Payload::phantom(1001);
  big.send(encode_head(FrameKind::kMessage, claim));
  EXPECT_TRUE(big.was_ended());
}

TEST(TcpFabric, EndsASilentConnection) {
  End a(0, {.hello_deadline_s = 0.05});
  Stranger silent(a.endpoint());
  EXPECT_TRUE(silent.was_ended());
}

TEST(TcpFabric, SurvivesMutatedStreams) {
  End a(0);
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    Stranger stranger(a.endpoint());
    stranger.hello(1, 0, "secret");
    Message message = text(1, std::string(static_cast<std::size_t>(random.below(500)), 'z'));
    FrameHead head = encode_head(FrameKind::kMessage, message);
    head[random.below(head.size())] ^= static_cast<std::byte>(1 + random.below(255));
    stranger.send(head);
    stranger.send(message.payload.bytes());
    EXPECT_TRUE(stranger.was_ended());
  }
  End b(2);
  b.fabric().set_peer(0, a.endpoint());
  b.fabric().send(0, text(2, "still there"));
  EXPECT_EQ(words_of(a.next()), "still there");
}

}  // namespace
}  // namespace motley
