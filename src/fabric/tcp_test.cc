#include "fabric/tcp.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "fabric/fabric_end.h"

namespace motley {
namespace {

using asio::ip::tcp;

TEST(TcpFabric, CarriesMessagesBothWaysInOrder) {
  FabricEnd a(0);
  FabricEnd b(1);
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
  FabricEnd a(0);
  FabricEnd b(1);
  a.fabric().set_peer(1, b.endpoint());
  std::vector<float> values(8'000'000, 1.5F);  // 32 MB: more than any socket buffer
  a.fabric().send(1, {0, Channel::kMethod, {}, Payload::borrow(values)});
  std::fill(values.begin(), values.end(), -1.0F);
  const Message message = b.next();
  ASSERT_EQ(message.payload.floats().size(), values.size());
  EXPECT_TRUE(std::all_of(message.payload.floats().begin(), message.payload.floats().end(),
                          [](float v) { return v == 1.5F; }));
}

// These two ask /proc: to use a descriptor of another thread, which may close it, would be a race.
std::set<int> open_sockets() {
  std::set<int> sockets;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code is_gone;
    if (std::filesystem::read_symlink(entry, is_gone).string().starts_with("socket:")) {
      sockets.insert(std::stoi(entry.path().filename()));
    }
  }
  return sockets;
}

bool closes_in_children(int descriptor) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(descriptor));
  for (std::string word; info >> word;) {
    if (word == "flags:" && info >> word) {
      return (std::stol(word, nullptr, 8) & O_CLOEXEC) != 0;
    }
  }
  return false;
}

// A child that held them would keep connections open that are closed here.
TEST(TcpFabric, KeepsItsSocketsFromChildren) {
  const std::set<int> before = open_sockets();
  FabricEnd a(0);
  FabricEnd b(1);
  a.fabric().set_peer(1, b.endpoint());
  b.fabric().set_peer(0, a.endpoint());
  a.fabric().send(1, text(0, "hi"));
  b.fabric().send(0, text(1, "hi"));
  a.next();
  b.next();
  const std::set<int> now = open_sockets();
  EXPECT_GE(now.size() - before.size(), 8U);
  for (const int socket : now) {
    EXPECT_TRUE(before.contains(socket) || closes_in_children(socket));
  }
}

TEST(TcpFabric, TellsAGoodbyeFromALoss) {
  FabricEnd a(0);
  {
    FabricEnd b(1);
    b.fabric().set_peer(0, a.endpoint());
    b.fabric().send(0, text(1, "hi"));
    EXPECT_EQ(words_of(a.next()), "hi");
    b.fabric().close(5);
  }
  EXPECT_EQ(a.reason_for_losing(1), "rank 1 has left the run");

  {
    FabricEnd c(2);
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
  FabricEnd a(0);
  a.fabric().set_peer(1, {"127.0.0.1", held.local_endpoint().port()});
  a.fabric().send(1, text(0, "anybody?"));
  EXPECT_NE(a.reason_for_losing(1).find("cannot reach rank 1"), std::string::npos);
  a.fabric().send(1, text(0, "silently dropped"));
}

// Each loses its own connection; the fabric continues for the peers that belong to the run.
TEST(TcpFabric, ClosesConnectionsThatDoNotBelongToTheRun) {
  FabricEnd a(0);
  const std::string garbage(100, 'x');
  RawPeer noisy(a.endpoint());
  noisy.send(std::as_bytes(std::span(garbage)));
  EXPECT_TRUE(noisy.was_ended());

  RawPeer without_token(a.endpoint());
  without_token.hello(1, 0, "guess");
  EXPECT_TRUE(without_token.was_ended());

  RawPeer elsewhere(a.endpoint());
  elsewhere.hello(1, 5, "secret");
  EXPECT_TRUE(elsewhere.was_ended());

  RawPeer impatient(a.endpoint());
  impatient.send(FrameKind::kMessage, text(1, "no hello"));
  EXPECT_TRUE(impatient.was_ended());

  RawPeer large_hello(a.endpoint());
  large_hello.hello(1, 0, std::string(kHelloPayloadLimit + 1, 's'));
  EXPECT_TRUE(large_hello.was_ended());

  RawPeer impostor(a.endpoint());
  impostor.hello(1, 0, "secret");
  impostor.send(FrameKind::kMessage, text(2, "with another's rank"));
  EXPECT_TRUE(impostor.was_ended());

  FabricEnd b(3);
  b.fabric().set_peer(0, a.endpoint());
  b.fabric().send(0, text(3, "I belong"));
  EXPECT_EQ(words_of(a.next()), "I belong");
}

TEST(TcpFabric, EndsAConnectionOverItsLimit) {
  FabricEnd a(0, {.payload_limit = 1000});
  RawPeer big(a.endpoint());
  big.hello(1, 0, "secret");
  Message claim;
  claim.from = 1;
  claim.payload = Payload::phantom(1001);
  big.send(encode_head(FrameKind::kMessage, claim));
  EXPECT_TRUE(big.was_ended());
}

TEST(TcpFabric, EndsASilentConnection) {
  FabricEnd a(0, {.hello_deadline_s = 0.05});
  RawPeer silent(a.endpoint());
  EXPECT_TRUE(silent.was_ended());
}

TEST(TcpFabric, SurvivesMutatedStreams) {
  FabricEnd a(0);
  Random random(7);
  for (int round = 0; round < 300; ++round) {
    RawPeer stranger(a.endpoint());
    stranger.hello(1, 0, "secret", 1 + round);
    Message message = text(1, std::string(static_cast<std::size_t>(random.below(500)), 'z'));
    FrameHead head = encode_head(FrameKind::kMessage, message);
    head[random.below(head.size())] ^= static_cast<std::byte>(1 + random.below(255));
    stranger.send(head);
    stranger.send(message.payload.bytes());
    EXPECT_TRUE(stranger.was_ended());
  }
  FabricEnd b(2);
  b.fabric().set_peer(0, a.endpoint());
  b.fabric().send(0, text(2, "still there"));
  EXPECT_EQ(words_of(a.next()), "still there");
}

}  // namespace
}  // namespace motley
