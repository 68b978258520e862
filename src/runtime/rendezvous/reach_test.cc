#include "runtime/rendezvous/reach.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "runtime/rendezvous/addresses.h"

namespace motley {
namespace {

Descriptor bound_socket() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto here = *resolve("127.0.0.1", 0);
  EXPECT_EQ(bind(socket.get(), here.front().get(), here.front().size), 0);
  return socket;
}

TEST(Reachable, SaysWhoListens) {
  const Descriptor listens = bound_socket();
  ASSERT_EQ(listen(listens.get(), 1), 0);
  const Descriptor does_not_listen = bound_socket();
  const std::vector<bool> expected = {false, true, false};
  EXPECT_EQ(reachable({own_address(does_not_listen.get()).endpoint(),
                       own_address(listens.get()).endpoint(),
                       {"not an address", 1}},
                      30),
            expected);
  EXPECT_TRUE(reachable({}, 30).empty());
}

// Linux answers no more of them when the queue of a listening socket is full, as if packets
// vanished.
TEST(Reachable, GivesUpInTime) {
  const Descriptor listens = bound_socket();
  ASSERT_EQ(listen(listens.get(), 0), 0);
  const Address there = own_address(listens.get());
  std::vector<Descriptor> queued;
  for (int i = 0; i < 4; ++i) {
    queued.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    connect(queued.back().get(), there.get(), there.size);
  }
  EXPECT_EQ(reachable({there.endpoint()}, 0.05), std::vector<bool>{false});
}

}  // namespace
}  // namespace motley
