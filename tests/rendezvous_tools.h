// What the tests of the rendezvous share: peers of a sample run, and a rendezvous that looks until
// something is reached.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/descriptor.h"
#include "runtime/rendezvous/addresses.h"
#include "runtime/rendezvous/rendezvous.h"
#include "tests/raw_client.h"

namespace motley::rendezvous_test {

using namespace std::chrono_literals;
using Json = nlohmann::json;

inline constexpr Seconds kLong = 20;

inline Peer host() { return {.version = "0.1.0", .rank = 0, .host = "a", .pid = 70, .token = "t"}; }
inline Peer a_peer(std::optional<Rank> rank, std::int64_t pid = 77) {
  return {.version = "0.1.0", .rank = rank, .host = "b", .pid = pid, .token = "t"};
}

inline RendezvousRules rules(int ranks) {
  return {
      .host = host(), .ranks = ranks, .fabric_token = "secret", .fabric_port = 4711, .grace = 0};
}

inline std::unique_ptr<Rendezvous> open_rendezvous(const RendezvousRules& rules) {
  return std::move(Rendezvous::open("127.0.0.1", 0, rules).value());
}

// Calls look() until the condition holds. False if it does not in time.
template <class Condition>
bool look_until(Rendezvous& rendezvous, Condition reached) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!reached()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    rendezvous.look();
  }
  return true;
}

inline bool is_ready(std::future<Result<Admission>>& answer) {
  return answer.wait_for(1ms) == std::future_status::ready;
}

inline std::future<Result<Admission>> begin_join(const Endpoint& rendezvous, const Peer& peer) {
  return std::async(std::launch::async, [=] { return join_rendezvous(rendezvous, peer, kLong); });
}

inline Result<Admission> come(Rendezvous& rendezvous, const Peer& peer) {
  auto answer = begin_join(rendezvous.endpoint(), peer);
  EXPECT_TRUE(look_until(rendezvous, [&] { return is_ready(answer); }));
  return answer.get();
}

inline std::string refusal(Rendezvous& rendezvous, const Peer& peer) {
  const auto answer = come(rendezvous, peer);
  return answer ? "no refusal" : answer.error().message;
}

inline RawClient raw(const Endpoint& endpoint) {
  return RawClient(fmt::format("http://127.0.0.1:{}/", endpoint.port));
}

// Everything that the rendezvous answers until it closes the connection.
inline std::string rest_of(RawClient& client, Rendezvous& rendezvous) {
  auto rest = std::async(std::launch::async, [&] { return client.rest(); });
  EXPECT_TRUE(
      look_until(rendezvous, [&] { return rest.wait_for(0ms) == std::future_status::ready; }));
  return rest.get();
}

// A port that the system gives to no other process; it can be listened on with SO_REUSEADDR.
struct BoundPort {
  BoundPort() : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const int yes = 1;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    const Address any = resolve("127.0.0.1", 0).value().front();
    EXPECT_EQ(bind(socket.get(), any.get(), any.size), 0);
    endpoint = own_address(socket.get()).endpoint();
  }
  Descriptor socket;
  Endpoint endpoint;
};

}  // namespace motley::rendezvous_test
