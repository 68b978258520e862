#include "dashboard/listener.h"

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "base/random.h"

namespace motley {
namespace {

TEST(Listener, NamesThatNobodyElseCanGiveOut) {
  for (const char* host :
       {"localhost", "LocalHost:8420", "localhost.", "127.0.0.1", "127.0.0.1:8420", "127.255.0.9",
        "[::1]", "[::1]:8420", "[0:0::1]", "localhost:"}) {
    EXPECT_TRUE(names_loopback(host)) << host;
  }
}

TEST(Listener, NamesThatOthersCanGiveOut) {
  for (const char* host : {"",
                           ".",
                           ":",
                           "[]",
                           "[",
                           "]",
                           "[]:1",
                           "evil.example",
                           "localhost.evil.example",
                           "127.0.0.1.evil.example",
                           "evillocalhost",
                           "evil.localhost",
                           "128.0.0.1",
                           "0.0.0.0",
                           "10.0.0.1:8420",
                           "[::2]",
                           "[::]",
                           "::1",
                           "[::1",
                           "[::1]x",
                           "localhost:80:80",
                           "localhost:x",
                           "localhost evil",
                           "127.1",
                           "2130706433",
                           "user@localhost",
                           "localhost/"}) {
    EXPECT_FALSE(names_loopback(host)) << host;
  }
}

// Anything but a port next to a valid name makes it invalid.
TEST(Listener, ANameWithAnythingElseAroundItIsInvalid) {
  constexpr std::string_view kParts[] = {"localhost", "127.0.0.1", "[::1]", ".",     ":",
                                         "80",        "evil",      "@",     "x.com", " "};
  const std::regex good("(localhost\\.?|127\\.0\\.0\\.1(80)?|\\[::1\\])(:[0-9]*)?");
  int names = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    std::string host;
    for (std::uint64_t i = random.below(5); i > 0; --i) {
      host += kParts[random.below(std::size(kParts))];
    }
    EXPECT_EQ(names_loopback(host), std::regex_match(host, good)) << host;
    names += names_loopback(host) ? 1 : 0;
  }
  EXPECT_GT(names, 100);
}

TEST(Listener, InvalidPortsAreRefused) {
  EXPECT_EQ(Listener::open("127.0.0.1", 65'536).error().message,
            "invalid port 65536 (1 to 65535, or 0 for any free port)");
  EXPECT_EQ(Listener::open("127.0.0.1", -1).error().message,
            "invalid port -1 (1 to 65535, or 0 for any free port)");
}

// 192.0.2.0/24 is reserved for documentation: no machine has it.
TEST(Listener, AnAddressOfAnotherMachine) {
  EXPECT_EQ(Listener::open("192.0.2.1", 0).error().message,
            "cannot listen on 192.0.2.1: Cannot assign requested address");
}

TEST(Listener, TellsItsAddress) {
  const auto loopback = Listener::open("127.0.0.2", 0);
  ASSERT_TRUE(loopback) << loopback.error().message;
  EXPECT_TRUE(loopback->is_loopback());
  EXPECT_TRUE(loopback->url().starts_with("http://127.0.0.2:")) << loopback->url();
  EXPECT_FALSE(loopback->url().ends_with(":0/"));
  const auto anywhere = Listener::open("0.0.0.0", 0);
  ASSERT_TRUE(anywhere) << anywhere.error().message;
  EXPECT_FALSE(anywhere->is_loopback());
  EXPECT_TRUE(anywhere->url().starts_with("http://localhost:")) << anywhere->url();
}

}  // namespace
}  // namespace motley
